#!/usr/bin/env python3
"""Makes groups of small cases: those of a folder of cases, and variants of the same kinds in other languages.

usage: cases.py CASES POOLS OUT      (POOLS: paragraphs and titles by half and language; writes OUT/dev/cases.jsonl and OUT/held/cases.jsonl)

Each case is judged on an empty window ("cold") and after a dozen unrelated pages of the same host ("warm").
Wanted: new, dup, near, exact, not_exact, either (nothing is wrong, the share that is dropped is shown), or the URL of the page to match.
"""
import glob, json, os, random, re, sys
from html import escape as e

CASES, POOLS, OUT = sys.argv[1:4]
POOL = json.load(open(POOLS, encoding="utf-8"))
groups = {"dev": [], "held": []}

# ---- the frames of the sites ----
SITE = {"en": ("The Valley Courier", "News Places People Contact"), "zh": ("江边日志", "首页 新闻 地图 关于"), "de": ("Talbote", "Aktuelles Orte Leute Kontakt"), "fr": ("Le Courrier du val", "Actualités Lieux Gens Contact"),
        "es": ("El Correo del valle", "Noticias Lugares Gente Contacto"), "ja": ("川べり通信", "ホーム お知らせ 地図 概要"), "ko": ("강변일보", "홈 소식 지도 소개"), "ru": ("Вестник долины", "Новости Места Люди Контакты")}
FOOT = {"en": "All rights reserved. Imprint", "zh": "版权所有 联系我们", "de": "Alle Rechte vorbehalten. Impressum", "fr": "Tous droits réservés. Mentions légales", "es": "Todos los derechos reservados. Aviso legal", "ja": "無断転載を禁じます。お問い合わせ", "ko": "모든 권리 보유. 문의하기", "ru": "Все права защищены. Обратная связь"}
def frame(half, lang, title, body, site=True, sep=None):
    name, nav = SITE[lang]; sep = sep or (" | " if half == "dev" else " - ")
    links = "".join('<li><a href="/%d/">%s</a></li>' % (i, n) for i, n in enumerate(nav.split()))
    full = e(title) + (sep + name if site else "")
    if half == "dev":
        return '<!DOCTYPE html><html lang="%s"><head><meta charset="utf-8"><title>%s</title></head><body><div class="top"><a href="/">%s</a><ul class="menu">%s</ul></div><div id="content">%s</div><div class="footer">© 2023 %s. %s</div></body></html>' % (lang, full, name, links, body, name, FOOT[lang])
    return '<!DOCTYPE html><html lang="%s"><head><meta charset="utf-8"><title>%s</title></head><body><header><h2><a href="/">%s</a></h2><nav><ul>%s</ul></nav></header><main>%s</main><footer><p>© 2022 %s. <a href="/legal">%s</a></p></footer></body></html>' % (lang, full, name, links, body, name, FOOT[lang])
def pool(half, lang):
    return POOL.get("%s/%s" % (half, lang)) or POOL["%s/%s" % ("held" if half == "dev" else "dev", lang)]
def article(half, lang, rng, n, used=None):
    """A title and n paragraphs that occur in no other page of the group."""
    P = pool(half, lang); flat = [p for ps in P["paras"] for p in ps]; used = used if used is not None else set()
    free = [p for p in flat if p not in used]; take = rng.sample(free, min(n, len(free))); used.update(take)
    titles = [t for t in P["titles"] if t not in used]; t = rng.choice(titles); used.add(t)
    return t, take
def ps(paras): return "".join("<p>%s</p>" % e(p) for p in paras)
def fillers(half, lang, rng, used):
    out = []
    for i in range(12):
        t, p = article(half, lang, rng, 2, used)
        out.append(["http://case.test/f/%d" % i, frame(half, lang, t, "<h1>%s</h1>%s" % (e(t), ps(p)))])
    return out
def add(half, kind, lang, pages, checks, rng, used, no=0, path=None):
    """pages: html in order; checks: [index, want], where want may be a number: the page to match"""
    for warm in (0, 1):
        rows = fillers(half, lang, rng, set(used)) if warm else []
        k = len(rows)
        url = lambda i: "http://case.test/%s" % ((path[i] if path else "%s/%d" % (kind, i)))
        rows = rows + [[url(i), h] for i, h in enumerate(pages)]
        groups[half].append({"set": "cases", "group": "case_%s_%s%s_%s" % (kind, lang, no or "", "warm" if warm else "cold"), "lang": lang, "pages": rows,
                             "checks": [[k + i, kind + (" warm" if warm else " cold"), url(w) if isinstance(w, int) else w] for i, w in checks]})

# ---- the given cases ----
def given():
    want = {"amp_sidebar": "dup", "amp_wordpress_title": "dup", "long_print": "dup", "apostrophe_fr": "exact", "minus_sign": "not_exact", "math_operators": "not_exact", "pre_prose_date": "near", "fuel_daily": "either"}
    for c in "port_figures_years balance_sheet_years bus_same_name fuel_daily weather_city nutrition tide_table pagination_article amp_sidebar amp_wordpress_title long_print apostrophe_fr minus_sign math_operators pre_prose_date".split():
        files = sorted(glob.glob("%s/%s/*.html" % (CASES, c)))
        if c == "apostrophe_fr": files.reverse()
        pages = [open(f, encoding="utf-8").read() for f in files]
        rng = random.Random(c)
        for warm in (0, 1):
            rows = []
            if warm:
                used = set(); head = re.search(r"<header.*?</header>", open(CASES + "/nutrition/0.html", encoding="utf-8").read(), re.S)[0]
                for i in range(12):
                    t, p = article("dev", "en", rng, 2, used)
                    rows.append(["http://case.test/f/%d" % i, '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s – Harbour Almanac</title></head><body>%s<main><h1>%s</h1>%s</main><footer><p>© 2024 Harbour Almanac. All rights reserved. <a href="/imprint">Imprint</a></p></footer></body></html>' % (e(t), head, e(t), ps(p))])
            k = len(rows)
            rows += [["http://case.test/%s/%s" % (c, os.path.basename(f)[:-5]), h] for f, h in zip(files, pages)]
            groups["dev"].append({"set": "cases_given", "group": "case_%s_%s" % (c, "warm" if warm else "cold"), "lang": "fr" if c == "apostrophe_fr" else "en", "pages": rows,
                                  "checks": [[k + i, c + (" warm" if warm else " cold"), want.get(c, "new")] for i in range(1, len(pages))]})

# ---- forms ----
# half, lang, kind, title with {}, names, introduction, labels of rows, what follows, numbers, way of writing
FORMS = [
 ("dev", "zh", "stats_year", "{}年全市统计数据", ["2015", "2016", "2017", "2018"], "本页数据由市统计局汇总，经审计后于次年五月公布，最终数据以年鉴为准。", "常住人口（万人） 新生儿数量（人） 全年降水量（毫米） 公路通车里程（公里） 图书馆借阅册数（千册） 公交客运量（万人次） 在校小学生（人） 新建住宅面积（平方米） 工业用电量（万千瓦时） 造林面积（公顷） 游客接待量（万人次）".split(), "统计口径如有调整，将在下一年度说明。", "int", "table"),
 ("dev", "es", "stats_year", "El municipio en cifras {}", ["2014", "2015", "2016"], "Los datos proceden del padrón y de los servicios municipales y se publican cada primavera.", "Habitantes empadronados a fin de año|Nacimientos inscritos en el registro civil|Viviendas terminadas durante el año|Libros prestados por la biblioteca pública|Viajeros de la línea de autobús urbana|Toneladas de papel recogidas para reciclar|Alumnos matriculados en las escuelas infantiles|Visitantes del museo de la cerámica|Licencias de obra concedidas por el ayuntamiento|Metros cúbicos de agua suministrada".split("|"), "Las cifras definitivas pueden variar ligeramente.", "int", "dl"),
 ("held", "de", "stats_year", "Die Gemeinde in Zahlen {}", ["2011", "2012", "2013", "2014"], "Die Angaben stammen aus dem Melderegister und von den Ämtern; sie werden jeweils im März veröffentlicht.", "Einwohner mit Hauptwohnung am Jahresende|Geburten und zugezogene Kinder unter sechs Jahren|Fertiggestellte Wohnungen in neuen Gebäuden|Ausgeliehene Medien der Stadtbücherei|Fahrgäste der Buslinien im Stadtgebiet|Eingesammeltes Altpapier in Tonnen|Schülerinnen und Schüler der Grundschulen|Besucher des Heimatmuseums und seiner Sonderausstellungen|Erteilte Baugenehmigungen|Einsätze der freiwilligen Feuerwehr".split("|"), "Abweichungen durch Rundung sind möglich.", "int", "table"),
 ("held", "ja", "stats_year", "数字で見る町 {}年度", ["2018", "2019", "2020"], "この統計は住民基本台帳と各課の報告をもとに作成し、毎年六月に公表しています。", "年度末の人口（人）|世帯数（世帯）|出生数（人）|小学校の児童数（人）|図書館の貸出冊数（冊）|町営バスの利用者数（人）|ごみの収集量（トン）|水道の給水量（立方メートル）|観光案内所の来訪者数（人）|新築住宅の戸数（戸）".split("|"), "端数処理のため合計が一致しないことがあります。", "int", "table"),
 ("dev", "fr", "tide", "Horaires des marées à {}", ["Roscoff", "Saint-Malo", "Cancale"], "Les heures sont données en heure légale, les hauteurs en mètres au-dessus du zéro des cartes. Pour la navigation, consultez les documents officiels.", ["%d juin" % i for i in range(1, 16)], "Le vent et la pression peuvent modifier les hauteurs.", "tide", "table"),
 ("dev", "en", "tide", "High and low water at {}", ["Whitby", "Mallaig", "Tenby"], "Times are in British Summer Time and heights in metres; predictions are for average weather.", ["%d August" % i for i in range(1, 15)], "Do not use this page for navigation.", "tide", "table"),
 ("held", "ko", "tide", "{} 물때표", ["인천", "목포", "여수"], "시각은 한국 표준시이며 높이는 약최저저조면 위의 센티미터입니다. 항해에는 공식 조석표를 이용하십시오.", ["7월 %d일" % i for i in range(1, 16)], "바람과 기압에 따라 실제 수위는 달라질 수 있습니다.", "tide", "table"),
 ("held", "de", "tide", "Gezeiten in {}", ["Büsum", "Husum", "Norderney"], "Alle Zeiten in gesetzlicher Zeit, Höhen in Metern über Seekartennull. Der Wind kann beides verändern.", ["%d. September" % i for i in range(1, 15)], "Amtlich sind nur die Tafeln des Bundesamtes.", "tide", "table"),
 ("dev", "zh", "weather", "{}天气预报", ["青岛", "大理", "延吉"], "预报每天更新四次，降水概率表示一百个类似天气日中出现降水的天数。请注意防晒，出门携带雨具。", "06时 09时 12时 15时 18时 21时 24时".split(), "未来三天以多云为主，早晚温差较大，请根据气温变化增减衣物。", "weather", "table"),
 ("dev", "es", "weather", "El tiempo en {}", ["Soria", "Huelva", "Vigo"], "La previsión se calcula cuatro veces al día con los modelos de los servicios meteorológicos nacionales.", ["%02d:00" % h for h in range(6, 24, 3)], "La probabilidad de lluvia indica en cuántos de cada cien días parecidos cae al menos una décima de milímetro.", "weather", "table"),
 ("held", "fr", "weather", "Météo à {}", ["Aurillac", "Sète", "Épinal"], "Les prévisions sont calculées quatre fois par jour à partir des modèles des services nationaux.", ["%d h" % h for h in range(6, 24, 3)], "La probabilité de pluie indique combien de jours sur cent connaissent au moins un dixième de millimètre.", "weather", "table"),
 ("held", "ru", "weather", "Погода в городе {}", ["Псков", "Томск", "Сочи"], "Прогноз рассчитывается четыре раза в сутки по моделям национальных метеослужб.", ["%02d:00" % h for h in range(6, 24, 3)], "Вероятность осадков показывает, в скольких из ста похожих дней выпадает хотя бы десятая доля миллиметра.", "weather", "table"),
 ("dev", "fr", "nutrition", "Valeurs nutritives : {}", ["poireau", "lentilles", "noisette"], "Teneurs pour 100 g de partie comestible ; les valeurs sont des moyennes de plusieurs analyses.", "Énergie Eau Protéines Lipides Glucides Sucres Fibres Calcium Fer Magnésium Phosphore Potassium Sodium Zinc Cuivre Manganèse Sélénium Iode".split(), "Les teneurs varient selon la saison et l'origine.", "dec", "table"),
 ("dev", "zh", "nutrition", "{}的营养成分", ["菠菜", "红薯", "核桃"], "以下为每百克可食部分的含量，数值为多次检测的平均值，因品种和产地而异。", "能量 水分 蛋白质 脂肪 碳水化合物 膳食纤维 钙 铁 镁 磷 钾 钠 锌 铜 锰 维生素A 维生素C 维生素E".split(), "数据仅供参考，不能代替医生的建议。", "dec", "dl"),
 ("held", "ja", "nutrition", "{}の栄養成分", ["ほうれん草", "さつまいも", "くるみ"], "可食部百グラムあたりの値です。品種や産地によって変わります。", "エネルギー 水分 たんぱく質 脂質 炭水化物 食物繊維 カルシウム 鉄 マグネシウム リン カリウム ナトリウム 亜鉛 銅 マンガン ビタミンA ビタミンC ビタミンE".split(), "数値は分析の平均で、参考としてご覧ください。", "dec", "table"),
 ("held", "de", "nutrition", "Nährwerte: {}", ["Lauch", "Linsen", "Haselnuss"], "Angaben je 100 g essbarem Anteil, Mittelwerte aus mehreren Analysen.", "Brennwert Wasser Eiweiß Fett Kohlenhydrate Zucker Ballaststoffe Calcium Eisen Magnesium Phosphor Kalium Natrium Zink Kupfer Mangan Selen Jod".split(), "Die Gehalte schwanken mit Sorte und Boden.", "dec", "dl"),
 ("dev", "es", "rates", "Tipos de cambio: {}", ["corona checa", "zloty polaco", "leu rumano"], "Tipos medios del mercado, sin comisiones. Los bancos aplican otros.", "Euro|Dólar estadounidense|Libra esterlina|Yen japonés|Franco suizo|Dólar canadiense|Corona sueca|Corona noruega|Dólar australiano|Yuan chino|Real brasileño|Peso mexicano".split("|"), "Se actualizan los días laborables a las 16 horas.", "rate", "table"),
 ("dev", "zh", "rates", "{}汇率查询", ["泰铢", "卢布", "韩元"], "以下为当日中间价，仅供参考，实际成交价以银行柜台为准。", "人民币 美元 欧元 英镑 日元 瑞士法郎 加拿大元 澳大利亚元 新加坡元 港币 瑞典克朗 挪威克朗".split(), "每个工作日下午更新。", "rate", "table"),
 ("held", "ko", "rates", "{} 환율", ["바트", "루피", "페소"], "매매 기준율이며 수수료는 포함되지 않습니다. 은행마다 다를 수 있습니다.", "미국 달러|유로|일본 엔|중국 위안|영국 파운드|스위스 프랑|캐나다 달러|호주 달러|홍콩 달러|싱가포르 달러|스웨덴 크로나|노르웨이 크로네".split("|"), "영업일 오후 네 시에 갱신됩니다.", "rate", "table"),
 ("held", "ru", "rates", "Курс валюты: {}", ["лари", "драм", "сум"], "Средние рыночные курсы без комиссий. В банках курс другой.", "Доллар США|Евро|Фунт стерлингов|Японская иена|Швейцарский франк|Канадский доллар|Австралийский доллар|Китайский юань|Шведская крона|Норвежская крона|Турецкая лира|Тенге".split("|"), "Обновляется по рабочим дням в 16 часов.", "rate", "dl"),
 ("dev", "en", "sports", "Division Two, round {}", ["7", "8", "9"], "All matches were played on Saturday at three unless stated. Attendances are as announced.", "Ashford Town v Braintree Rovers|Corby United v Dunstable Park|Eastleigh Wanderers v Frome Athletic|Grantham Star v Hitchin Albion|Ilford Rangers v Jarrow City|Kettering Vale v Leek Victoria|Morpeth North End v Nuneaton Green|Oldham Street v Penrith Castle".split("|"), "The table is updated on Sunday evening.", "sport", "table"),
 ("dev", "fr", "sports", "Résultats de la journée {}", ["11", "12", "13"], "Les rencontres ont lieu le dimanche à quinze heures sauf indication contraire.", "Auxonne – Bergerac|Cognac – Digoin|Épernay – Figeac|Gaillac – Honfleur|Issoire – Joigny|Langon – Mayenne|Nyons – Orthez|Pertuis – Quimperlé".split("|"), "Le classement est mis à jour le lundi.", "sport", "table"),
 ("held", "de", "sports", "Kreisliga, {}. Spieltag", ["4", "5", "6"], "Anstoß ist sonntags um 15 Uhr, die Zuschauerzahlen sind geschätzt.", "Altdorf – Bergheim|Calau – Dahlen|Eutin – Forst|Geldern – Hagenow|Ilsede – Jever|Kamenz – Lauenburg|Melle – Nidda|Oschatz – Plau".split("|"), "Die Tabelle erscheint am Montag.", "sport", "table"),
 ("held", "zh", "sports", "乙级联赛第{}轮战报", ["15", "16", "17"], "比赛均在周六下午进行，上座人数由主场俱乐部公布。", "江城队 对 海湾队|长河队 对 青山队|东港队 对 西岭队|南湖队 对 北原队|云峰队 对 石桥队|松林队 对 沙洲队|白鹭队 对 红柳队".split("|"), "积分榜将于周日晚更新。", "sport", "dl"),
]
def numbers(kind, rng):
    r = rng.randrange
    if kind == "int": return ["{:,}".format(r(1000, 99999))]
    if kind == "dec": return ["%.1f" % (r(1, 999) / 10), rng.choice(["g", "mg", "µg"])]
    if kind == "rate": return ["%.4f" % (r(1000, 99999) / 10000), "%.4f" % (r(1000, 99999) / 10000), "%+.2f %%" % (r(-300, 300) / 100)]
    if kind == "tide": return ["%02d:%02d" % (r(0, 6), r(60)), "%.1f" % (r(28, 99) / 10), "%02d:%02d" % (r(6, 12), r(60)), "%.1f" % (r(1, 20) / 10), "%02d:%02d" % (r(12, 18), r(60)), "%.1f" % (r(28, 99) / 10)]
    if kind == "weather": return ["%d °C" % r(-9, 35), "%d %%" % r(0, 100), "%d km/h" % r(2, 70), "%d hPa" % r(980, 1035)]
    if kind == "sport": return ["%d : %d" % (r(0, 6), r(0, 5)), "(%d : %d)" % (r(0, 3), r(0, 3)), "%d" % r(80, 4200)]
def form(half, lang, title, intro, labels, outro, kind, way, rng):
    rows = [(l, numbers(kind, rng)) for l in labels]
    if way == "table": t = "<table>%s</table>" % "".join("<tr><td>%s</td>%s</tr>" % (e(l), "".join("<td>%s</td>" % e(x) for x in v)) for l, v in rows)
    else: t = "<dl>%s</dl>" % "".join("<dt>%s</dt><dd>%s</dd>" % (e(l), e(" ".join(v))) for l, v in rows)
    return frame(half, lang, title, "<h1>%s</h1><p>%s</p>%s<p>%s</p>" % (e(title), e(intro), t, e(outro)))
def forms():
    for no, (half, lang, kind, title, names, intro, labels, outro, num, way) in enumerate(FORMS):
        rng = random.Random(no)
        add(half, kind, lang, [form(half, lang, title.format(n), intro, labels, outro, num, way, rng) for n in names], [[i, "new"] for i in range(1, len(names))], rng, set())

# ---- one title, other data ----
STOPS = {"de": ("Linie 7", "Gültig ab 3. Januar. Kursiv gedruckte Zeiten nur an Schultagen. Fahrscheine gibt es beim Fahrer.", "Rathaus Bahnhof Klinikum Friedhof Wasserwerk Stadtpark Sporthalle Gewerbegebiet Molkerei Schleuse".split(), "Hunde fahren zum ermäßigten Preis. Fahrräder werden außerhalb der Stoßzeiten mitgenommen."),
         "zh": ("12路公交时刻表", "自一月三日起执行，加粗班次仅工作日运行，请自备零钱。", "市政府 火车站 人民医院 植物园 自来水厂 体育馆 工业园 批发市场 老码头 师范学院".split(), "高峰时段不得携带自行车，宠物须装笼。"),
         "fr": ("Ligne 3", "Valable à partir du 3 janvier. Les horaires en italique ne valent que les jours d'école.", "Mairie Gare Hôpital Cimetière Abattoirs Piscine Stade Zone-Industrielle Moulin Écluse".split(), "Les vélos sont admis en dehors des heures de pointe."),
         "ko": ("7번 버스 시간표", "1월 3일부터 적용됩니다. 굵은 글씨는 평일에만 운행합니다.", "시청 역전 병원 공원 정수장 체육관 공단 시장 부두 대학교".split(), "출퇴근 시간에는 자전거를 실을 수 없습니다."),
         "es": ("Línea 4", "Válido desde el 3 de enero. Los horarios en cursiva solo rigen en días lectivos.", "Ayuntamiento Estación Hospital Cementerio Matadero Piscina Estadio Polígono Molino Esclusa".split(), "Se admiten bicicletas fuera de las horas punta."),
         "ja": ("8番系統 時刻表", "一月三日改正。太字の便は平日のみ運転します。", "市役所 駅前 病院 公園 浄水場 体育館 工業団地 市場 港 大学".split(), "混雑時は自転車を持ち込めません。")}
def one_title():
    for half, langs in (("dev", ("zh", "fr", "es")), ("held", ("de", "ko", "ja"))):
        for lang in langs:
            title, intro, stops, outro = STOPS[lang]; pages = []
            for start, order in ((6 * 60 + 5, stops), (6 * 60 + 23, stops[::-1]), (7 * 60 + 41, stops[3:] + stops[:3])):
                rows = "".join("<tr><td>%s</td>%s</tr>" % (s, "".join("<td>%02d:%02d</td>" % divmod(start + 4 * i + 60 * k, 60) for k in range(6))) for i, s in enumerate(order))
                pages.append(frame(half, lang, title, "<h1>%s</h1><p>%s</p><table>%s</table><p>%s</p>" % (title, intro, rows, outro)))
            add(half, "one_title_other_data", lang, pages, [[1, "new"], [2, "new"]], random.Random(lang), set())

# ---- copies of articles ----
LANGS = {"dev": ("en", "zh", "es", "ko"), "held": ("de", "ja", "fr", "zh", "ru")}
PRINT = {"en": " » Print", "zh": " - 打印", "es": " » Imprimir", "ko": " - 인쇄", "de": " » Drucken", "ja": " - 印刷", "fr": " » Imprimer", "ru": " » Печать"}
COMMENT = {"en": "Comments are closed.", "zh": "评论已关闭。", "es": "Los comentarios están cerrados.", "ko": "댓글이 닫혔습니다.", "de": "Kommentare sind geschlossen.", "ja": "コメントは受け付けていません。", "fr": "Les commentaires sont fermés.", "ru": "Комментарии закрыты."}
DATE = {"en": "This page was generated on {0} May 2024 at {1}:15", "zh": "本页生成于2024年5月{0}日{1}:15", "es": "Página generada el {0} de mayo de 2024 a las {1}:15", "ko": "이 페이지는 2024년 5월 {0}일 {1}:15에 생성되었습니다", "de": "Stand: {0}. Mai 2024, {1}:15 Uhr", "ja": "最終更新 2024年5月{0}日 {1}:15", "fr": "Mise à jour le {0} mai 2024 à {1} h 15", "ru": "Страница создана {0} мая 2024 в {1}:15"}
PAGE = {"en": "{} – Page {} of 3", "zh": "{}（第{}页，共3页）", "es": "{} – Página {} de 3", "ko": "{} ({}/3쪽)", "de": "{} – Seite {} von 3", "ja": "{}（{}/3ページ）", "fr": "{} – Page {} sur 3", "ru": "{} – Страница {} из 3"}
TAG = {"en": "Posts tagged {}", "zh": "标签：{}", "es": "Entradas con la etiqueta {}", "ko": "태그: {}", "de": "Beiträge mit dem Schlagwort {}", "ja": "タグ：{}", "fr": "Articles avec l'étiquette {}", "ru": "Записи с меткой {}"}
TAGS = {"en": ("harbour", "bridge"), "zh": ("旅行", "读书"), "es": ("viajes", "libros"), "ko": ("여행", "독서"), "de": ("Reisen", "Bücher"), "ja": ("旅行", "読書"), "fr": ("voyages", "livres"), "ru": ("путешествия", "книги")}
def box(links): return '<div>%s</div>' % "".join('<div><a href="/p/%d.html">%s</a></div>' % (i, e(t)) for i, t in links)
def sentences(p): return [s for s in re.split(r"(?<=[。！？])|(?<=[.!?])\s+", p) if s and s.strip()]
def join(s): return "".join(s) if re.search(r"[。！？]", "".join(s)) else " ".join(s)
def copies():
    for half, langs in LANGS.items():
        for lang in langs:
            titles = list(enumerate(pool(half, lang)["titles"]))
            for no in range(3):
                rng = random.Random("%s%s%d" % (half, lang, no)); used = set()
                t, p = article(half, lang, rng, 5, used); h1 = "<h1>%s</h1>" % e(t)
                plain = frame(half, lang, t, "<article>%s%s</article><p>%s</p>" % (h1, ps(p), COMMENT[lang]))
                side = "".join('<li><a href="/amp/%d/">%s</a></li>' % x for x in enumerate(SITE[lang][1].split() + [e(x[1]) for x in rng.sample(titles, 8)]))
                amp = '<!doctype html><html amp lang="%s"><head><meta charset="utf-8"><title>%s</title></head><body><header><a href="/amp/">%s</a></header><main><article>%s<div>admin</div>%s</article></main><footer>© %s</footer><amp-sidebar id="s" layout="nodisplay"><ul>%s</ul></amp-sidebar></body></html>' % (lang, e(t), SITE[lang][0], h1, ps(p), SITE[lang][0], side)
                if no < 2: add(half, "amp_other_sidebar", lang, [plain, amp], [[1, 0]], rng, used, no)
                pr = '<!DOCTYPE html><html lang="%s"><head><meta charset="utf-8"><title>%s</title></head><body><h2>%s</h2><p>%s, 2024-05-06</p>%s</body></html>' % (lang, e(t + PRINT[lang]), e(t), SITE[lang][0], ps(p))
                if no < 2: add(half, "print_title", lang, [plain, pr], [[1, 0]], rng, used, no)
                # pagination
                t2, q = article(half, lang, rng, 7, used); stand = q[0]
                pages = [frame(half, lang, PAGE[lang].format(t2, i + 1), "<article><h1>%s</h1><p class='lead'>%s</p>%s<div class='pages'>1 2 3</div></article>" % (e(t2), e(stand), ps(q[1 + 2 * i:3 + 2 * i]))) for i in range(3)]
                if no < 2: add(half, "pagination", lang, pages, [[1, "new"], [2, "new"]], rng, used, no)
                # one date line changed
                short = p[:2]
                pages = [frame(half, lang, t, "<h1>%s</h1>%s<p>%s</p>" % (e(t), ps(short), DATE[lang].format(d, h))) for d, h in ((6, 10), (7, 23))]
                if no < 2: add(half, "date_line", lang, pages, [[1, 0]], rng, used, no)
                # other teasers after the article in an element without a name: a copy; another short article with the same teasers: new
                n = (5, 8, 12)[no]
                mk = lambda t_, p_, links: frame(half, lang, t_, "<div><h1>%s</h1>%s</div>%s" % (e(t_), ps(p_), box(links)))
                many = [x for x in titles if x[1] != t]
                a, b = rng.sample(many, min(n, len(many))), rng.sample(many, min(n, len(many)))
                t3, p3 = article(half, lang, rng, 2, used)
                add(half, "noname_teasers_other", lang, [mk(t, p[:3], a), mk(t, p[:3], b)], [[1, 0]], rng, used, no, ["p/a.html", "q/a.html"])
                add(half, "noname_teasers_same", lang, [mk(t, p[:2], a), mk(t3, p3, a)], [[1, "new"]], rng, used, no)
                # lists
                entry = lambda x: '<li><a href="/p/%d.html">%s</a> <span>2023-0%d-1%d</span></li>' % (x[0], e(x[1]), 1 + x[0] % 9, x[0] % 9)
                g1, g2 = TAGS[lang]; k = (4, 8, 14)[no]; draw = rng.sample(titles, min(2 * k, len(titles))); k = min(k, len(draw) // 2)
                lst = lambda g, xs: frame(half, lang, TAG[lang].format(g), "<h1>%s</h1><ul>%s</ul>" % (TAG[lang].format(g), "".join(map(entry, xs))))
                add(half, "list_other_entries", lang, [lst(g1, draw[:k]), lst(g2, draw[k:])], [[1, "new"]], rng, used, no)
                add(half, "list_one_more_entry", lang, [lst(g1, draw[:k]), lst(g2, draw[:k] + draw[k:k + 2])], [[1, "new"]], rng, used, no)
                add(half, "list_same_entries_other_tag", lang, [lst(g1, draw[:k]), lst(g2, draw[:k])], [[1, "dup"]], rng, used, no)
                # one sentence edited in a short page
                body = p[:3]; s = sentences(body[1]); extra = sentences(p[4])[0]
                edited = [body[0], join(s + [extra]), body[2]]
                cut = [body[0], join(s[:-1]) if len(s) > 1 else body[1], body[2]]
                swap = [body[0], join(s[:-1] + [extra]), body[2]]
                for name, ed in (("sentence_added", edited), ("sentence_changed", swap)) + ((("sentence_lost", cut),) if len(s) > 1 else ()):
                    if no < 2: add(half, name, lang, [frame(half, lang, t, h1 + ps(x)) for x in (body, ed)], [[1, 0]], rng, used, no)

given(); forms(); one_title(); copies()
for half, gs in groups.items():
    os.makedirs("%s/%s" % (OUT, half), exist_ok=True)
    with open("%s/%s/cases.jsonl" % (OUT, half), "w", encoding="utf-8") as f:
        for g in gs: f.write(json.dumps(g, ensure_ascii=False) + "\n")
    print(half, len(gs), "groups", sum(len(g["checks"]) for g in gs), "checks")
