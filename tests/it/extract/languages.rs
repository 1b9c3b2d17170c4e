//! The language of a text.

use pagesieve::page::language;

use super::extract;

#[test]
fn languages_with_a_script_of_their_own_are_detected_by_it() {
    for (text, code) in [
        ("中文", "zh"),
        ("日本語のテキスト", "ja"),
        ("한국어", "ko"),
        ("Ελληνικά", "el"),
        ("ภาษาไทย", "th"),
        ("ქართული", "ka"),
        ("தமிழ்", "ta"),
        ("安裝 Debian GNU/Linux 之前，請先備份您的資料。", "zh"),
        ("PostgreSQLをインストールする", "ja"),
        ("這家店的名字叫做優の良品，賣各種零食", "zh"),
    ] {
        assert_eq!(language(text), Some(code), "{text}");
    }
}

#[test]
fn languages_that_share_a_script_are_detected_by_statistics() {
    for (text, code) in [
        (
            "The committee decided to postpone the meeting until the following week, because too few members had come.",
            "en",
        ),
        (
            "Der Ausschuss beschloss, die Sitzung auf die folgende Woche zu verschieben, weil zu wenige Mitglieder gekommen waren.",
            "de",
        ),
        (
            "Le comité a décidé de reporter la réunion à la semaine suivante, parce que trop peu de membres étaient venus.",
            "fr",
        ),
        (
            "El comité decidió aplazar la reunión hasta la semana siguiente, porque habían venido muy pocos miembros.",
            "es",
        ),
        (
            "Комитет решил отложить заседание до следующей недели, потому что пришло слишком мало членов.",
            "ru",
        ),
        (
            "Комітет вирішив відкласти засідання до наступного тижня, тому що прийшло замало членів.",
            "uk",
        ),
        ("قررت اللجنة تأجيل الاجتماع إلى الأسبوع التالي لأن عددا قليلا جدا من الأعضاء قد حضر", "ar"),
        ("Ủy ban đã quyết định hoãn cuộc họp đến tuần sau vì có quá ít thành viên đến dự.", "vi"),
    ] {
        assert_eq!(language(text), Some(code), "{text}");
        assert_eq!(language(&text.repeat(50)), Some(code), "{text}");
    }
}

#[test]
fn a_text_that_is_too_short_has_no_detected_language() {
    for text in ["", "42", "!?", "OK", "Hello World"] {
        assert_eq!(language(text), None, "{text}");
    }
}

#[test]
fn a_page_falls_back_on_what_it_declares() {
    assert_eq!(extract("<html lang=de-AT><p>OK").lang, Some("de"));
    assert_eq!(extract("<html lang=DEU><p>42").lang, Some("de"));
    assert_eq!(extract("<html lang=en><p>中文網頁").lang, Some("zh"));
    assert_eq!(extract("<html lang='x-klingon'><p>OK").lang, None);
    assert_eq!(extract("<html lang=''><p>OK").lang, None);
}
