//! Pages of kinds other than articles, with the markup that forum software, shops and portals write: threads, lists, products, news.
//!
//! Each was written by hand. What it has to keep and to leave out is listed line by line.

use super::extract;

/// Checks that the body text has these passages, and none of those.
fn check(name: &str, html: &str, kept: &[&str], dropped: &[&str]) {
    let text = extract(html).text;
    for passage in kept {
        assert!(text.contains(passage), "{name} lacks {passage:?}:\n{text}");
    }
    for passage in dropped {
        assert!(!text.contains(passage), "{name} has {passage:?}:\n{text}");
    }
}

fn links(names: &[&str]) -> String {
    let link = |(number, name): (usize, &&str)| format!("<li><a href=/l{number}>{name}</a></li>");
    names.iter().enumerate().map(link).collect()
}

#[test]
fn the_posts_of_a_phpbb_thread_are_content() {
    let post = |number: usize, text: &str| {
        format!(
            "<div id=p{number} class=\"post has-profile bg{}\"><div class=inner><dl class=postprofile id=profile{number}><dt class=\"has-profile-rank\">
             <a href=/u{number} class=username>sailor{number}</a></dt><dd class=profile-rank>Site regular</dd><dd class=profile-posts><strong>Posts:</strong> <a href=/s>1{number}7</a></dd>
             <dd class=profile-joined><strong>Joined:</strong> Tue Mar 03, 2015 9:1{number} pm</dd><dd><strong>Location:</strong> Far harbour</dd></dl>
             <div class=postbody><div id=post_content{number}><h3><a href=#p{number}>Re: Which anchor for sand?</a></h3><ul class=post-buttons><li><a href=/r class=button><span class=sr-only>Quote</span></a></li></ul>
             <p class=author><a class=unread href=/p>Post</a> by <strong><a href=/u{number}>sailor{number}</a></strong> » Sun May 19, 2024 8:0{number} am</p>
             <div class=content>{text}</div></div><div id=sig{number} class=signature>Fair winds and following seas to all of you</div></div></div></div><hr class=divider>",
            number % 2 + 1
        )
    };
    let posts = [
        post(1, "Hello all, I have a boat of nine metres, and the anchorage at the island is all sand. The old plough drags whenever the wind goes round. What do you use?"),
        post(2, "A spade type, 15 kg. Never dragged."),
        post(3, "Same here. Put out more chain than you think, five times the depth at least, and it holds."),
        post(4, "Thanks, ordered one!"),
    ]
    .concat();
    let html = format!(
        "<title>Which anchor for sand? - Sailors' forum</title><body id=phpbb class=\"nojs notouch section-viewtopic ltr\"><div id=wrap class=wrap><a id=top class=top-anchor></a>
         <div id=page-header><div class=headerbar role=banner><div class=inner><div id=site-description class=site-description><p>The board for people with boats</p></div></div></div>
         <div class=navbar role=navigation><ul id=nav-main>{}</ul></div></div>
         <div id=page-body class=page-body role=main><h2 class=topic-title><a href=/t>Which anchor for sand?</a></h2>
         <div class=\"action-bar bar-top\"><a href=/reply class=button>Post Reply</a><div class=pagination>4 posts • Page 1 of 1</div></div>{posts}
         <div class=\"action-bar actions-jump\"><p class=jumpbox-return><a href=/f>Return to “Gear and rigging”</a></p></div>
         <div class=\"stat-block online-list\"><h3>Who is online</h3><p>Users browsing this forum: No registered users and 3 guests</p></div></div>
         <div id=page-footer class=page-footer role=contentinfo><div class=copyright><p>Powered by forum software of some group</p></div></div></div>",
        links(&["Quick links", "FAQ", "Login", "Register", "Board index"])
    );
    check(
        "phpBB",
        &html,
        &[
            "all sand. The old plough drags",
            "A spade type, 15 kg. Never dragged.",
            "five times the depth",
            "Thanks, ordered one!",
        ],
        &[
            "Fair winds",
            "Site regular",
            "Far harbour",
            "Who is online",
            "Powered by",
            "Register",
            "people with boats",
        ],
    );
}

#[test]
fn the_posts_of_a_discuz_thread_are_content() {
    let post = |number: usize, text: &str| {
        format!(
            "<div id=post_{number}><table id=pid{number} class=plhin cellspacing=0><tr><td class=pls rowspan=2><div id=favatar{number} class=\"pls favatar\"><div class=pi><div class=authi><a href=/u{number} class=xw1>海上的人{number}</a></div></div>
             <div class=tns><table><tr><th><p><a href=/a class=xi2>{number}2</a></p>主题</th><th><p><a href=/b class=xi2>{number}04</a></p>帖子</th><td><p><a href=/c class=xi2>9{number}7</a></p>积分</td></tr></table></div>
             <p><em><a href=/g>中级会员</a></em></p><dl class=pil><dt>积分</dt><dd><a href=/d class=xi2>9{number}7</a></dd></dl><ul class=\"xl xl2 o\"><li class=pm2><a href=/pm>发消息</a></li></ul></div></td>
             <td class=plc><div class=pi><strong><a href=/f{number}><em>{number}</em><sup>#</sup></a></strong><div class=pti><div class=authi><em id=authorposton{number}>发表于 2024-4-6 20:4{number}</em><span class=pipe>|</span><a href=/o>只看该作者</a></div></div></div>
             <div class=pct><div class=pcb><div class=t_fsz><table><tr><td class=t_f id=postmessage_{number}>{text}</td></tr></table></div></div></div></td></tr>
             <tr><td class=\"plc plm\"><div class=sign style=max-height:100px>一个人的航海日记，欢迎来我的空间看看</div></td></tr>
             <tr><td class=pls></td><td class=plc><div class=po><div class=\"pob cl\"><em><a class=fastre href=/r>回复</a></em><p><a href=/j>举报</a></p></div></div></td></tr></table></div>"
        )
    };
    let posts = [
        post(1, "大家好，我有一条九米长的帆船，岛边的锚地全是沙底，原来的犁锚风一转向就走锚。请问各位都用什么锚？"),
        post(2, "用铲锚，十五公斤的，从来没走过。"),
        post(3, "同意楼上。链子要比你想的多放一些，至少是水深的五倍，这样才抓得住。"),
        post(4, "谢谢，已经下单了！"),
    ]
    .concat();
    let html = format!(
        "<title>沙底用什么锚？ - 航海论坛</title><body id=nv_forum class=pg_viewthread><div id=toptb class=cl><div class=wp><a href=/h>设为首页</a><a href=/s>收藏本站</a></div></div>
         <div id=hd><div class=wp><div id=um><p>请 <a href=/login>登录</a> 后使用快捷导航</p></div><div id=nv><ul>{}</ul></div></div></div>
         <div id=wp class=wp><div id=pt class=\"bm cl\"><div class=z><a href=/>航海论坛</a> <em>»</em> <a href=/x>论坛</a> <em>›</em> <a href=/y>装备交流</a></div></div>
         <div id=ct class=\"wp cl\"><div id=pgt class=\"pgs mbm cl\"><span class=pgb><a href=/back>返回列表</a></span></div>
         <div id=postlist class=\"pl bm\"><table cellspacing=0><tr><td class=\"pls ptn pbn\"><div class=\"hm ptn\"><span class=xg1>查看:</span> <span class=xi1>1031</span><span class=pipe>|</span><span class=xg1>回复:</span> <span class=xi1>3</span></div></td>
         <td class=\"plc ptm pbn vwthd\"><h1 class=ts><span id=thread_subject>沙底用什么锚？</span></h1></td></tr></table>{posts}</div></div></div>
         <div id=ft class=\"wp cl\"><div id=flk><p><a href=/z>小黑屋</a> 粤ICP备00000000号</p><p class=xs0>GMT+8, 2024-5-20 10:00</p></div></div>",
        links(&["论坛", "家园", "相册", "活动", "排行榜"])
    );
    check(
        "Discuz",
        &html,
        &["原来的犁锚风一转向就走锚", "从来没走过", "至少是水深的五倍", "谢谢，已经下单了"],
        &[
            "航海日记",
            "中级会员",
            "发消息",
            "设为首页",
            "快捷导航",
            "返回列表",
            "备00000000号",
            "举报",
        ],
    );
}

#[test]
fn the_posts_of_a_discourse_topic_are_content() {
    let post = |number: usize, text: &str| {
        format!(
            "<div id=post_{number} itemprop={} itemscope itemtype=http://schema.org/Comment class=\"topic-body crawler-post\"><div class=crawler-post-meta>
             <span class=creator itemprop=author itemscope itemtype=http://schema.org/Person><a itemprop=url href=/u/{number}><span itemprop=name>sailor{number}</span></a></span>
             <span class=crawler-post-infos><time itemprop=datePublished class=post-time>May 19, 2024, 8:0{number}am</time><span itemprop=position>{number}</span></span></div>
             <div class=post itemprop=text><p>{text}</p></div>
             <div itemprop=interactionStatistic itemscope><meta itemprop=userInteractionCount content=2><span class=post-likes>2 Likes</span></div></div>",
            if number == 1 { "mainEntity" } else { "comment" }
        )
    };
    let posts = thread(post);
    let html = format!(
        "<title>Which anchor for sand? - Gear - Sailors</title><body class=crawler><header><a href=/>Sailors</a></header><div id=main-outlet class=wrap role=main>
         <div id=topic-title><h1><a href=/t/1>Which anchor for sand?</a></h1><div class=topic-category><span class=category-title><a href=/c/gear>Gear</a></span></div></div>
         <div itemscope itemtype=http://schema.org/DiscussionForumPosting><meta itemprop=headline content=\"Which anchor for sand?\">{posts}</div>
         <div id=related-topics class=\"more-topics__list\" role=complementary><h3 class=more-topics__list-title>Related topics</h3><table class=topic-list><tr><td><a href=/t/5>Chain or rope for the second anchor</a></td><td>12</td></tr><tr><td><a href=/t/6>Noise in the mast at night</a></td><td>31</td></tr></table></div></div>
         <footer class=\"container wrap\"><nav class=crawler-nav><ul>{}</ul></nav><p class=powered-by-link>Powered by some software, best viewed with JavaScript enabled</p></footer>",
        links(&["Home", "Categories", "Guidelines", "Terms of Service", "Privacy Policy"])
    );
    check(
        "Discourse",
        &html,
        &[
            "mostly at three in the morning",
            "A spade type, 15 kg.",
            "Put out more chain",
            "Thanks, ordered one!",
        ],
        &["Noise in the mast", "Guidelines", "Powered by", "2 Likes"],
    );
}

/// The posts of a thread, each in the markup of `post`.
fn thread(post: impl Fn(usize, &str) -> String) -> String {
    let posts = [
        "I have a boat of nine metres, and the anchorage at the island is all sand. The old plough drags whenever the wind goes round, mostly at three in the morning, and I should like to sleep for once. What do you use?",
        "A spade type, 15 kg. Never dragged.",
        "Put out more chain than you think.",
        "Thanks, ordered one!",
    ];
    (1..).zip(posts).map(|(number, text)| post(number, text)).collect()
}

#[test]
fn the_posts_of_a_xenforo_thread_are_content() {
    let post = |number: usize, text: &str| {
        format!(
            "<article class=\"message message--post js-post\" data-author=sailor{number} id=js-post-{number}><div class=message-inner><div class=\"message-cell message-cell--user\"><section class=message-user><div class=message-userDetails>
             <h4 class=message-name><a href=/m/{number} class=username>sailor{number}</a></h4><h5 class=\"userTitle message-userTitle\">Well-known member</h5></div><div class=message-userExtras><dl class=\"pairs pairs--justified\"><dt>Joined</dt><dd>Mar 3, 2015</dd></dl>
             <dl class=\"pairs pairs--justified\"><dt>Reaction score</dt><dd>1,01{number}</dd></dl></div></section></div>
             <div class=\"message-cell message-cell--main\"><div class=\"message-main js-quickEditTarget\"><header class=\"message-attribution message-attribution--split\"><ul class=message-attribution-main><li><a href=/p{number}><time>May 19, 2024</time></a></li></ul><ul class=message-attribution-opposite><li><a href=/p{number}>#{number}</a></li></ul></header>
             <div class=\"message-content js-messageContent\"><div class=\"message-userContent lbContainer\"><article class=\"message-body js-selectToQuote\"><div class=bbWrapper>{text}</div></article></div></div>
             <footer class=message-footer><div class=message-actionBar><a href=/q class=actionBar-action>Quote</a></div></footer></div>
             <aside class=\"message-signature js-userSignature\"><div class=bbWrapper>Fair winds and following seas to all of you</div></aside></div></div></article>"
        )
    };
    let posts = thread(post);
    let html = format!(
        "<html class=\"has-no-js\" data-template=thread_view><title>Which anchor for sand? | Sailors</title><body data-template=thread_view><div class=p-pageWrapper id=top><header class=p-header><a href=/>Sailors</a></header><div class=p-navSticky><nav class=p-nav><ul>{}</ul></nav></div>
         <div class=p-body><div class=p-body-inner><ul class=\"p-breadcrumbs\"><li><a href=/f>Forums</a></li><li><a href=/g>Gear and rigging</a></li></ul><div class=p-body-header><div class=p-title><h1 class=p-title-value>Which anchor for sand?</h1></div><div class=p-description><ul class=listInline><li>Thread starter <a href=/m/1>sailor1</a></li></ul></div></div>
         <div class=p-body-main><div class=p-body-content><div class=p-body-pageContent><div class=\"block block--messages\"><div class=block-container><div class=\"block-body js-replyNewMessageContainer\">{posts}</div></div></div>
         <div class=\"block\"><div class=block-container><h3 class=block-header>Similar threads</h3><div class=block-body><div class=structItem><div class=structItem-title><a href=/t/5>Chain or rope for the second anchor</a></div></div><div class=structItem><div class=structItem-title><a href=/t/6>Noise in the mast at night</a></div></div></div></div></div></div></div></div></div></div>
         <footer class=p-footer><p>Community platform by some company</p></footer></div>",
        links(&["Forums", "New posts", "Members", "Log in", "Register"])
    );
    check(
        "XenForo",
        &html,
        &[
            "mostly at three in the morning",
            "A spade type, 15 kg.",
            "Put out more chain",
            "Thanks, ordered one!",
        ],
        &["Fair winds", "Reaction score", "Noise in the mast", "Community platform", "New posts"],
    );
}

#[test]
fn a_short_portal_article_is_read_without_its_boxes() {
    let article = [
        "本报讯（记者 王小海）昨日上午，东港新防波堤正式完工，全长一千二百米，比原计划提前了两个月。",
        "港务局负责人表示，新堤建成以后，港池泥沙淤积的问题将得到缓解，大型渔船不必再等涨潮进港。",
    ];
    let paragraphs = article.map(|text| format!("<p>　　{text}</p>")).concat();
    let hot = links(&[
        "股市午评：三大指数集体收涨",
        "专家谈秋季养生注意事项",
        "周末去哪儿：五个海岛推荐",
        "新车谍照首次曝光",
        "球队主帅赛后发布会实录",
    ]);
    let sina = format!(
        "<title>东港新防波堤完工|防波堤|东港_新浪样式新闻</title><body><div class=top-bar-wrap id=top_bar_wrap><div class=top-bar><a href=/l>登录</a></div></div><div class=path-search><div class=path><a href=/n>新闻中心</a> &gt; 正文</div></div>
         <div class=main-content id=article_content><h1 class=main-title>东港新防波堤完工</h1><div class=\"top-bar-wrap\"><div class=date-source><span class=date>2018年12月28日 16:53</span> <a class=source href=/s>东港日报</a></div></div>
         <div class=\"article-content clearfix\" id=article_content2><div class=article-content-left><div class=article id=artibody>{paragraphs}<p class=show_author>责任编辑：张三 </p><div class=\"wap_special\" data-sudaclick=x><a href=/sp>点击进入专题</a></div></div>
         <div class=article-bottom id=article-bottom><div class=keywords id=keywords>关键字 : <a href=/k>防波堤</a><a href=/k2>东港</a></div><div class=\"share-box\">分享到微博 分享到微信</div></div>
         <div class=\"blk-comment\"><div class=hd>网友评论</div><div class=comment-item>说得好，早该修了，我们等了二十年都没等到这一天，支持支持。</div><div class=comment-item>希望鱼也能回来，以前这里的带鱼多得很，现在想吃都吃不到了。</div></div>
         <div class=\"tb01 tbtech\"><div class=hd>相关新闻</div><ul>{hot}</ul></div></div>
         <div class=article-content-right><div class=\"blk_weixin\"><p>财经公众号</p><p>24小时滚动播报最新的资讯和视频，更多粉丝福利扫描二维码关注</p></div><div class=blk><h3>热门推荐</h3><ul>{hot}</ul></div></div></div></div>
         <div class=footer><p>Copyright © 1996-2018 All Rights Reserved 版权所有 意见反馈留言板</p></div>"
    );
    check(
        "sina-like",
        &sina,
        &article,
        &[
            "责任编辑",
            "早该修了",
            "三大指数",
            "滚动播报",
            "版权所有",
            "点击进入专题",
            "分享到",
            "登录",
        ],
    );
    let sohu = format!(
        "<title>东港新防波堤完工_港务局_渔船_泥沙</title><body class=\"article-page\"><div id=main-header><nav class=nav><ul>{hot}</ul></nav></div><div class=\"wrapper-box\"><div class=\"location-without-nav\"></div><div id=article-container class=\"article-page\">
         <div class=\"left sidebar\"><div class=column><div class=user-info><h4><a href=/u>东港日报</a></h4><dl><dd><em>1.2万</em>文章</dd><dd><em>3亿</em>总阅读</dd></dl></div></div></div>
         <div class=\"left main\"><div class=text><div class=text-title><h1>东港新防波堤完工</h1><div class=article-info><span class=time>2018-12-28 16:53</span><span class=tag>来源: <a href=/s>东港日报</a></span></div></div>
         <article class=article id=mp-editor>{paragraphs}<p><a href=/back>查看更多</a></p><p>责任编辑：</p></article>
         <div class=statement>声明：该文观点仅代表作者本人，本平台系信息发布平台，仅提供信息存储空间服务。</div><div class=bottom-relate-wrap><div class=share-interaction>阅读 (<em>128</em>)</div></div>
         <div id=god_bottom_banner><p>网站广告位招商，欢迎来电垂询合作事宜。</p></div></div><div class=\"groom-read\"><p class=title>推荐阅读</p><div class=news-list><ul>{hot}</ul></div></div></div>
         <div class=\"right sidebar\"><div class=hot-article><h3>24小时热文</h3><ul>{hot}</ul></div></div></div></div>"
    );
    check(
        "sohu-like",
        &sohu,
        &article,
        &["责任编辑", "三大指数", "声明", "查看更多", "总阅读", "招商", "24小时热文"],
    );
    let netease = format!(
        "<title>东港新防波堤完工_样式新闻</title><body><div class=ntes-nav><a href=/l>登录</a></div><div class=\"post_content post_area clearfix\" id=epContentLeft><div class=post_main><div class=post_crumb><a href=/n>新闻频道</a> &gt; 正文</div>
         <h1 class=post_title>东港新防波堤完工</h1><div class=post_info>2018-12-28 16:53:00　来源: <a href=/s>东港日报</a><a class=post_jubao href=/j>举报</a></div>
         <div class=post_body>{paragraphs}<div class=ep-source><span class=left>本文来源：东港日报</span> <span class=ep-editor>责任编辑：李四_NN0001</span></div></div>
         <div class=post_statement><strong>特别声明：</strong>以上内容(如有图片或视频亦包括在内)为自媒体平台用户上传并发布，本平台仅提供信息存储服务。</div>
         <div class=\"post_recommends js-tab-mod\"><div class=post_recommends_titles>相关推荐</div><div class=post_recommends_list>{hot}</div></div></div>
         <div class=post_side><div class=\"side_module\"><h2>热点新闻</h2><ul>{hot}</ul></div></div></div><div class=N-nav-bottom><p>关于我们 版权所有 不良信息举报</p></div>"
    );
    check(
        "163-like",
        &netease,
        &article,
        &["责任编辑", "三大指数", "特别声明", "不良信息", "登录", "来源"],
    );
}

#[test]
fn the_list_of_a_category_is_content() {
    let names = [
        "Bollard, cast iron",
        "Cleat, 200 mm",
        "Fender, white",
        "Anchor, spade type",
        "Chain, 8 mm, per metre",
        "Shackle, bow",
    ];
    let items: String = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!(
                "<li class=\"product type-product post-{number} instock\"><a href=/product/{number} class=woocommerce-LoopProduct-link><img src=/i{number}.jpg><h2 class=woocommerce-loop-product__title>{name}</h2>
                 <span class=price><span class=amount>{number}9.00</span></span></a><a href=/cart?add={number} class=\"button add_to_cart_button\">Add to basket</a></li>"
            )
        })
        .collect();
    let html = format!(
        "<title>Mooring – Harbour shop</title><body class=\"archive tax-product_cat woocommerce\"><div id=page class=site><header id=masthead class=site-header role=banner><p class=site-title>Harbour shop</p><nav class=main-navigation><ul>{}</ul></nav></header>
         <div id=content class=site-content><nav class=woocommerce-breadcrumb><a href=/>Home</a> / Mooring</nav><main id=main class=site-main role=main><header class=woocommerce-products-header><h1 class=page-title>Mooring</h1><div class=term-description><p>All that holds a boat to the quay, tested on our own wall.</p></div></header>
         <p class=woocommerce-result-count>Showing all 6 results</p><ul class=\"products columns-3\">{items}</ul></main>
         <div id=secondary class=widget-area role=complementary><div class=widget><span class=widget-title>Filter by price</span></div></div></div>
         <footer id=colophon class=site-footer role=contentinfo><p>© Harbour shop 2024, built with a theme</p></footer></div>",
        links(&["Shop", "My account", "Basket", "Checkout", "Log in"])
    );
    let kept: Vec<&str> = names.into_iter().chain(["All that holds a boat to the quay"]).collect();
    check("category", &html, &kept, &["My account", "Filter by price", "built with a theme"]);
}

#[test]
fn a_product_is_its_name_description_and_specifications() {
    let related: String = ["Cleat, 200 mm", "Fender, white", "Shackle, bow"]
        .iter()
        .map(|name| format!("<li class=\"product type-product\"><a href=/p><h2 class=woocommerce-loop-product__title>{name}</h2><span class=price>19.00</span></a></li>"))
        .collect();
    let html = format!(
        "<title>Bollard, cast iron – Harbour shop</title><body class=\"single-product woocommerce\"><header class=site-header role=banner><nav><ul>{}</ul></nav></header>
         <nav class=woocommerce-breadcrumb><a href=/>Home</a> / <a href=/m>Mooring</a> / Bollard, cast iron</nav><main id=main class=site-main><div id=product-7 class=\"product type-product\" itemscope itemtype=http://schema.org/Product><div class=\"summary entry-summary\"><h1 class=\"product_title entry-title\" itemprop=name>Bollard, cast iron</h1>
         <p class=price><span class=amount>1,299.00</span></p><div class=woocommerce-product-details__short-description><p>A bollard for quays and for gardens.</p></div><form class=cart><label>Quantity</label><input><button>Add to basket</button></form></div>
         <div class=\"woocommerce-tabs wc-tabs-wrapper\"><ul class=\"tabs wc-tabs\" role=tablist><li><a href=#tab-description>Description</a></li><li><a href=#tab-additional>Additional information</a></li><li><a href=#tab-reviews>Reviews (1)</a></li></ul>
         <div class=woocommerce-Tabs-panel id=tab-description role=tabpanel itemprop=description><p>Cast in one piece by the last foundry of the coast, with four holes for bolts, primed and painted black. It holds boats of up to sixty tonnes.</p></div>
         <div class=woocommerce-Tabs-panel id=tab-additional role=tabpanel><table class=\"shop_attributes\"><tr><th>Weight</th><td>112 kg</td></tr><tr><th>Height</th><td>60 cm</td></tr><tr><th>Material</th><td>Grey cast iron</td></tr></table></div></div>
         <section class=\"related products\"><h2>Related products</h2><ul class=\"products columns-4\">{related}</ul></section></div></main>
         <footer class=site-footer role=contentinfo><p>© Harbour shop 2024</p></footer>
         <div class=modal-box id=ck><p>We use cookies to improve your experience on our website. By browsing this website, you agree to our use of cookies.</p><button>Accept</button></div>",
        links(&["Shop", "My account", "Basket", "Checkout", "Log in"])
    );
    check(
        "product",
        &html,
        &[
            "Bollard, cast iron",
            "for gardens",
            "last foundry of the coast",
            "112 kg",
            "60 cm",
            "Grey cast iron",
        ],
        &["Fender, white", "My account", "Harbour shop 2024", "cookies"],
    );
    let chinese = format!(
        "<title>铸铁系船柱 60cm - 海港商城</title><body><div id=shortcut><ul class=fl>{}</ul></div><div class=crumb-wrap><div class=crumb><a href=/c>船用五金</a> &gt; <a href=/d>系泊</a></div></div>
         <div class=product-intro><div class=itemInfo-wrap><div class=sku-name>铸铁系船柱 60cm 码头庭院两用</div><div class=summary-price>价格 ￥1299.00</div><div class=choose-btns><a href=/cart>加入购物车</a></div></div></div>
         <div class=\"detail\"><div class=tab-main><ul><li>商品介绍</li><li>规格与包装</li><li>商品评价(12)</li></ul></div><div class=tab-con><div class=p-parameter><ul class=parameter2><li>商品名称：铸铁系船柱</li><li>商品毛重：112.00kg</li><li>商品产地：中国大陆</li><li>材质：灰口铸铁</li><li>高度：60厘米</li></ul></div>
         <div class=detail-content><p>由沿海最后一家铸造厂整体浇铸，底座四孔，出厂前已涂底漆和黑色面漆，可系泊六十吨以下的船只。</p></div></div></div>
         <div class=\"guess-you-like\"><h3>猜你喜欢</h3><ul>{}</ul></div><div id=footer-2017><div class=copyright>Copyright © 2004-2024 海港商城 版权所有</div></div>",
        links(&["你好，请登录", "免费注册", "我的订单", "会员中心", "客户服务"]),
        links(&["不锈钢羊角 200mm", "充气护舷 白色", "弓形卸扣 镀锌", "锚链 8mm 按米"])
    );
    check(
        "Chinese product",
        &chinese,
        &["铸铁系船柱 60cm 码头庭院两用", "112.00kg", "灰口铸铁", "整体浇铸", "六十吨以下"],
        &["请登录", "弓形卸扣", "版权所有"],
    );
}

#[test]
fn a_heading_with_a_cookie_dialog_is_the_heading() {
    for (dialog, heading) in [
        (
            "We use cookies and similar technologies to give you the best experience. Some of them are necessary, others help us to improve this site. You can accept all cookies or change your settings.",
            "Opening hours of the museum",
        ),
        (
            "本网站使用 Cookie 来改善您的浏览体验。继续浏览本网站即表示您同意我们使用 Cookie，详情请参阅隐私政策。",
            "博物馆开放时间",
        ),
        (
            "当サイトでは、利便性の向上のためにクッキーを使用しています。サイトの閲覧を続けることで、クッキーの使用に同意したものとみなします。",
            "博物館の開館時間",
        ),
    ] {
        let html = format!(
            "<title>{heading}</title><body><ul class=m1><li><a href=/>Start</a></li><li><a href=/x>X</a></li></ul><div class=c9><h1>{heading}</h1></div><div class=k3><div><p>{dialog}</p></div><button>OK</button></div>"
        );
        let start: String = dialog.chars().take(12).collect();
        check("dialog", &html, &[heading], &[&start]);
    }
    let article = "<h1>How cookies work</h1><p>Sites use cookies to remember who you are. This website uses cookies as an example, and so does every other one.</p><p>A cookie is a line of text that a browser sends back with each request, nothing more, and it cannot run.</p>";
    check("article", &format!("<div>{article}</div>"), &["as an example", "nothing more"], &[]);
}

const DECLARED: [&str; 2] = [
    "The rudder of my dinghy comes out of the water when she heels. Is the blade too short, or do I sail her wrong?",
    "She is heeled too far. Sit further out, ease the sheet, and the blade stays in the water where it belongs.",
];

/// A page of a question, with these attributes and script, and what an answer adds that no post says.
fn question(scope: &str, script: &str) -> String {
    let post = |text: &str| {
        format!(
            "<div class=entry><div class=stats>12 points, 3 views</div><div {scope}><p>{text}</p></div>
             <p>Posted by sailor the first, who has written here since the year 2009 and has sailed since long before that.</p></div>"
        )
    };
    format!(
        "<title>Why does the rudder come out? - Boats</title><script type=application/ld+json>{script}</script>
         <body itemscope itemtype=https://schema.org/QAPage><h1>Why does the rudder come out?</h1>{}{}
         <div class=rules><p>When you answer, be kind, be brief, and remember that everybody had a first boat once.</p></div>",
        post(DECLARED[0]),
        post(DECLARED[1])
    )
}

#[test]
fn the_text_of_a_discussion_is_what_it_declares_to_be_its_posts() {
    let json = format!(
        r#"{{"@type":"QAPage","mainEntity":{{"@type":"Question","text":"<p>{}</p>","suggestedAnswer":[{{"@type":"Answer","text":"{}"}}]}}}}"#,
        DECLARED[0], DECLARED[1]
    );
    let expected = ["Why does the rudder come out?", DECLARED[0], DECLARED[1]].join("\n");
    for html in [question("", &json), question("itemprop=text", "")] {
        assert_eq!(extract(&html).text, expected);
    }
}

#[test]
fn a_first_post_that_is_declared_is_not_all_of_a_discussion() {
    let answer = "I have sailed one for twenty years, and it did the same until I raked the mast. ";
    let html = format!(
        "<title>Rudder</title><body itemscope itemtype=https://schema.org/QAPage><div class=p itemprop=text><p>Why does it come out at all?</p></div>
         <div class=p><p>{}</p></div><div class=p><p>{}</p></div>",
        answer.repeat(3),
        answer.repeat(2)
    );
    check("a thread", &html, &["Why does it come out", "raked the mast"], &[]);
}

#[test]
fn what_every_post_has_beside_its_text_is_left_out() {
    let replies = [
        "Mine did the same until the mast was raked a little, and the helm is light now.",
        "Thanks, that was it!",
        "Sit further out, and ease the sheet before she heels that far.",
        "A longer blade helps as well.",
    ];
    let post = |(number, text): (usize, &&str)| {
        format!(
            "<div class=message><div class=who>sailor {number}</div><div class=when>{number} days ago</div><div class=text><p>{text}</p></div>
             <div>{number}7 people like this post</div><span>Quote</span></div>"
        )
    };
    let posts: String = (1..).zip(&replies).map(post).collect();
    let html = format!(
        "<title>Rudder</title><body itemscope itemtype=https://schema.org/DiscussionForumPosting><div class=thread>{posts}</div>"
    );
    check("a thread", &html, &replies, &["sailor", "days ago", "people like", "Quote"]);
}

#[test]
fn a_form_for_replies_is_not_the_body_of_a_discussion() {
    let html = format!(
        "<title>Rudder</title><body itemscope itemtype=https://schema.org/QAPage><div class=question><div itemprop=text>{}</div></div>
         <div class=comment-list><p>{}</p></div>
         <div class=post-container><h3>Your answer</h3><p>{}</p></div>",
        DECLARED[0],
        DECLARED[1],
        "Read the question with care, be kind, and remember that everybody had a first boat. ".repeat(3)
    );
    check("a question", &html, &DECLARED, &[]);
}

#[test]
fn questions_that_the_author_answers_are_part_of_an_article() {
    let article = "A rudder that comes out of the water steers nothing, and the boat turns into the wind at once. ".repeat(6);
    let json = format!(
        r#"{{"@type":"FAQPage","mainEntity":[{{"@type":"Question","name":"Why?","acceptedAnswer":{{"@type":"Answer","text":"{}"}}}}]}}"#,
        DECLARED[1]
    );
    let html = format!(
        "<title>Rudder</title><script type=application/ld+json>{json}</script><div class=text><p>{article}</p><h2>Why?</h2><p>{}</p></div>",
        DECLARED[1]
    );
    check("a guide", &html, &[article.trim(), "Why?", DECLARED[1]], &[]);
}

#[test]
fn parts_of_a_page_that_are_all_named_widgets_are_its_text() {
    let texts = [
        "The old lighthouse was built of granite in four summers, and its keepers lived on fish, rain and patience.",
        "When the lamp was turned by a clockwork, somebody had to wind it every four hours, in every kind of weather.",
        "Since the lamp is electric nobody has lived there, and the garden behind the wall has gone back to the gulls.",
    ];
    let part = |text: &&str| {
        format!(
            "<div class=builder-widget><div class=widget-container><p>{text} {text}</p></div></div>"
        )
    };
    let parts: String = texts.iter().map(part).collect();
    let teasers = "<div class=widget><p>Read about <a href=/x>the boats that came to the harbour in the year of the storm</a>, too.</p></div>";
    let comments =
        "<div id=comments><p>I have been there, and it is a wonderful place to be alone.</p></div>";
    for body in ["<div>", "<div class=entry-content>"] {
        let html = format!(
            "<title>Lighthouse</title><body>{body}<h2>Stone</h2>{parts}</div>{teasers}{comments}"
        );
        check("a builder", &html, &texts, &["the boats that came", "to be alone"]);
    }
}

/// A page without a text of its own: parts with names of what stands beside a text, and entries whose titles are links.
fn landing(more: &str) -> String {
    let part = |(number, name): (usize, &&str)| {
        format!(
            "<section class=\"{name}-block\"><h2>What we do, part {number}</h2><p>{} {}</p></section>",
            PARTS[number],
            "We have done it since the harbour was built, and we like the work, whatever the weather and the season. Come by when the flag is up, or write to us, and we shall answer as soon as our hands are dry."
        )
    };
    let names = ["work", "promo", "intro", "cta"];
    let parts: String = names.iter().enumerate().map(part).collect();
    let entry = |number: usize| {
        format!(
            "<div class=tile><h3><a href=/b{number}>Boat number {number}</a></h3><p>Four berths, oak, {number}2 feet</p></div>"
        )
    };
    let entries: String = (1..8).map(entry).collect();
    let menu = links(&["Home", "Boats", "Contact"]);
    format!(
        "<title>Boat yard</title><body><nav><ul>{menu}</ul></nav><div class=page><h1>The yard at the old pier</h1>
         {parts}<div class=grid>{entries}</div>{more}</div><footer>All rights reserved by the yard</footer>"
    )
}

const PARTS: [&str; 4] = [
    "We build boats of oak and larch, to your drawings or to ours.",
    "We mend what the winter broke, and we are honest about what cannot be mended.",
    "We store boats in a dry hall, on trestles, from October to the end of April.",
    "We lend you a dinghy for as long as yours is on the slip.",
];

#[test]
fn the_parts_and_entries_of_a_page_without_a_text_are_its_text() {
    let kept = [&PARTS[..], &["Boat number 1", "Four berths, oak, 72 feet"]].concat();
    let dropped = ["Contact", "All rights reserved"];
    check("a landing page", &landing(""), &kept, &dropped);
    let texts = [
        "The yard was founded by two brothers, who could not agree on anything but the shape of a hull.",
        "One of them drew the lines by eye, and the other one corrected them with a plank at the edge of the water.",
        "Their first boat still sails, and their granddaughter repairs it every other spring without sending a bill.",
    ];
    let text = texts.map(|text| format!("<p>{text} {text} {text}</p>")).concat();
    let article = landing(&format!("<div class=story-of-the-yard>{text}</div>"));
    check("a page with a text", &article, &texts, &["Boat number 1", PARTS[1]]);
}

/// Sentences that differ, as what readers write does.
const REPLIES: [&str; 6] = [
    "Put out more chain than you think.",
    "Mine held through the whole gale!",
    "Sand is easy, weed is not.",
    "Ask the harbour master, he knows the ground.",
    "A second anchor never hurt anybody.",
    "I would go to the other bay.",
];

#[test]
fn a_short_thread_does_not_include_what_stands_below_it() {
    let post = |(number, text): (usize, &&str)| {
        format!(
            "<div id=post_{number}><table class=plhin><tr><td class=pls><div class=pls>sailor{number}</div></td>
             <td class=plc><div class=pi>#{number}</div><div class=t_f>{text}</div></td></tr></table></div>"
        )
    };
    let posts: String = REPLIES[..2].iter().enumerate().map(post).collect();
    let html = format!(
        "<title>Which anchor? - Boats</title><body id=nv_forum class=pg_viewthread><div id=wp><div class=bar>Quick links and other things</div>
         <div id=postlist class=pl><h1>Which anchor?</h1>{posts}</div></div>
         <div class=bottom><p>Licence 0896-066 of the province, hotline 021-34144567, reports of illegal content to the office of the province, all day, every day.</p></div>"
    );
    let kept = ["Which anchor?", REPLIES[0], REPLIES[1]];
    check("a short thread", &html, &kept, &["Quick links", "hotline"]);
}

#[test]
fn replies_are_content_beside_the_text_that_they_answer() {
    let lead = "The council has voted for a new harbour wall, to be built in two summers, and paid by a tax on berths. ".repeat(3);
    let replies: String = (0..8)
        .map(|at| format!("<div class=reply-text>{}</div>", REPLIES[at % 6].repeat(3)))
        .collect();
    let other = "What the captain of the ferry wrote in his column about the weather of last week, as always. ".repeat(9);
    let html = format!(
        "<title>A new wall</title><script type=application/ld+json>{{\"@type\":\"NewsArticle\",\"headline\":\"A new wall\"}}</script>
         <h1>A new wall</h1><div class=post-body><p>{lead}</p></div><div id=post-replies class=post-replies>{replies}</div>
         <div class=sidebar><p>{other}</p></div>"
    );
    check("replies", &html, &["A new wall", lead.trim(), REPLIES[0], REPLIES[5]], &["the ferry"]);
}

#[test]
fn the_title_of_a_thread_is_a_part_of_it() {
    let html = format!(
        "<title>Which anchor for sand? – Boats</title><div class=content-area><div class=entry-header><h1>Which anchor for sand?</h1></div>
         <div class=thread><div class=entry-content><p>{} I have a boat of nine metres, and the island is all sand.</p></div></div></div>",
        REPLIES[3]
    );
    check("a question", &html, &["Which anchor for sand?", "all sand"], &[]);
}

#[test]
fn posts_that_were_deleted_do_not_outweigh_the_one_that_was_not() {
    let deleted: String = (0..12)
        .map(|at| format!("<li class=deleted><div class=content itemprop=text>This post is deleted!</div><b>{at}</b></li>"))
        .collect();
    let html = format!(
        "<title>Which anchor?</title><body class=page-topic><div class=\"topic postlist\"><h1>Which anchor?</h1><ul class=posts>
         <li><div class=content itemprop=text><p>{} {}</p></div></li>{deleted}</ul></div>",
        REPLIES[3], REPLIES[5]
    );
    check("deleted posts", &html, &["Which anchor?", REPLIES[3], REPLIES[5]], &["is deleted"]);
}

#[test]
fn a_page_that_is_no_article_and_has_titles_that_are_links_is_a_list() {
    let card = |(number, text): (usize, &&str)| {
        format!(
            "<div class=card><h3><a href=/{number}>The story of the anchor, part {number}</a></h3><p>{text} And so on, for a line or two.</p></div>"
        )
    };
    let cards: String = REPLIES.iter().enumerate().map(card).collect();
    let page = |kind: &str| {
        format!(
            "<title>Stories</title><meta property=og:type content={kind}><main><h1>Stories</h1><p>{}</p><div class=cards>{cards}</div></main>",
            "Every week we tell you a story, and most of them are true. ".repeat(30)
        )
    };
    check(
        "a list",
        &page("website"),
        &["most of them are true", "part 0", "part 5", REPLIES[2]],
        &[],
    );
    check("an article", &page("article"), &["most of them are true"], &["part 0", "part 5"]);
}

#[test]
fn what_buyers_wrote_is_not_the_product() {
    let review = "<div class=review><b>Anna</b><p>It holds my boat, it looks good, and it came within a week of the order.</p></div>";
    let html = format!(
        "<title>Bollard</title><script type=application/ld+json>{{\"@type\":\"Product\",\"name\":\"Bollard\"}}</script>
         <div class=product-detail><h1>Bollard, cast iron</h1><div class=price>1,299.00</div>
         <p>{}</p></div><div class=customer-reviews><h2>Reviews</h2>{review}{review}</div>",
        "Cast in one piece by the last foundry of the coast, with four holes for bolts, primed and painted black. ".repeat(4)
    );
    check("a product", &html, &["Bollard, cast iron", "last foundry"], &["came within a week"]);
}

/// A page with two equal parts in its main content, one of which has a class.
fn of_two_parts(class: &str, main: &str) -> String {
    let part = |class: &str, names: [&str; 3]| {
        let paragraph = |name: &&str| {
            format!(
                "<p>The {name} was rebuilt in the spring, as the storms of the winter had torn off its roof and half of a wall.</p>"
            )
        };
        let text: String = names.iter().map(paragraph).collect();
        format!("<div class=\"{class}\"><h2>About the {}</h2>{text}</div>", names[0])
    };
    let parts =
        part(class, ["granary", "bakery", "school"]) + &part("y", ["mill", "ferry", "chapel"]);
    format!(
        "<title>Repairs</title><header><a href=/>Home</a></header><{main}><h1>Repairs</h1>{parts}</{main}><footer>Imprint</footer>"
    )
}

#[test]
fn a_name_does_not_decide_about_half_of_a_page() {
    let names = [
        "gdpr-section",
        "menu",
        "author",
        "bio",
        "rating",
        "banner",
        "MsoFooter",
        "latest",
        "widget",
        "sidebar",
        "share",
        "tags",
        "copyright",
        "disclaimer",
        "caption",
        "promo",
        "newsletter",
        "related",
        "toolbar",
        "popup",
        "dropdown",
        "meta",
        "cookie",
        "gallery",
        "x-ads",
        "footer",
        "recommend",
        "sponsor",
        "survey",
        "top-nav",
    ];
    for name in names {
        for main in ["main", "div"] {
            check(name, &of_two_parts(name, main), &["The school was", "The chapel was"], &[]);
        }
    }
}

#[test]
fn paragraphs_of_one_name_count_together() {
    let paragraphs: String = ["mill", "weir", "bridge"]
        .map(|it| format!("<p class=MsoFooter>The {it} was rebuilt in the spring, as the storms of the winter had torn off half of a wall.</p>"))
        .concat();
    let other = "<p>The ferry goes again from April on, at six in the morning, and on Sundays an hour later than that.</p>";
    let page = format!("<h1>Repairs</h1>{paragraphs}{}", other.repeat(3));
    check("paragraphs", &page, &["The mill was", "The bridge was", "The ferry goes"], &[]);
}

#[test]
fn facts_beside_a_text_are_a_part_of_it() {
    let text = "<p>It was bred to follow the scent of a fox over great distances, in a pack and with stamina, and is loud.</p>";
    let facts = "<dl><dt>Origin<dd>England<dt>Height<dd>53 to 64 cm<dt>Weight<dd>29 to 34 kg</dl>";
    let table = "<table><tr><th>Origin<td>England<tr><th>Height<td>53 to 64 cm<tr><th>Weight<td>29 to 34 kg</table>";
    for facts in [facts, table] {
        let page = format!(
            "<title>Foxhound</title><nav><a href=/>Dogs</a></nav><div><h1>Foxhound</h1>{facts}<div>{}</div></div>",
            text.repeat(5)
        );
        check(
            "facts",
            &page,
            &["England", "53 to 64 cm", "29 to 34 kg", "follow the scent"],
            &["Dogs"],
        );
    }
}
