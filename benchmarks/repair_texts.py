"""Markdown texts for `benchmarks.repairs`: what a memory holds, in several languages and forms."""

import unicodedata

_PROSE = """# Sofia, autumn term

Sofia is in her third year of physics. She said: “I don’t want to be afraid of proofs – not any more.” Since then
she writes one proof a week by hand, and reads it aloud to her sister. Her sister’s verdict is often “too long…”,
which she takes as praise.

She works best before ten o’clock, in the kitchen, with the radio on. A lesson of more than fifty minutes is lost on
her: after forty she looks at the clock, after fifty she agrees to everything. What helps is a break of five minutes,
a glass of water and a question she has not seen before.

Her goal for the term is a grade of 1.7 or better in *Theoretical Physics II*; last year it was 2.3. She has 40 % of
the points for the exam already, and needs 50 % to be admitted. The deadline for the sheets is Thursday 18:00, the
one for the lab report the Sunday after. If a sheet is late, she loses 10 % of its points – which happened twice.

In December she travels to Turin for a conference; her talk is on the 14th at 9:30. She asked not to have lessons in
that week, and to have two in the week before. Her train leaves at 6:12, “far too early for anybody”, as she says.
"""

_LIST = """## Weekly plan

- **Monday**: algebra with Frau Nussbaumer, room 4, 15:00
    - bring the `matrix.py` exercises
    - ask about the rank of a product
- **Tuesday**: no lesson, because of the choir
- **Wednesday**: mechanics, room 12, 16:30
    - repeat *Lagrange* from last week
    - two examples with a pendulum
        - one with friction
        - one without it
- **Thursday**: hand in the sheet before 18:00
- **Friday**: German conversation, ten minutes about her subject with no switch to English

## Open questions

1. Does she want a second lesson per week from January on?
2. Which textbook does the lecturer recommend?
3. Is the oral exam in February or in March?

## Homework

- [ ] Sheet 7, tasks 1 to 4
- [x] Sheet 6, tasks 2 and 3
- [ ] Read chapter nine, and write down three questions about it
- [ ] Summary of the lecture on oscillations, one page, for Friday’s lesson
"""

_TABLE = """# Marks and dates

| Subject | Examiner | Date | Room | Mark |
|---|---|---|---|---|
| Analysis III | Prof. Dr. Keller | 12 February 2027 | H 104 | – |
| Linear Algebra II | Dr. Okafor | 3 March 2027 | H 021 | 1.7 |
| Experimental Physics | Prof. Lindqvist | 22 July 2026 | P 3 | 2.0 |
| Numerics for Engineers | Dr. Haddad | 30 July 2026 | E 11 | 2.3 |
| JLPT N3 | Japan Foundation | 6 December 2026 | outside | – |

The two exams without a mark are still to come. For *Analysis III* she may bring one sheet, written on both sides by
hand. For **JLPT N3** the passport is needed, and the confirmation that came by post in “the green envelope”.

| Sheet | Points | Of | Remark |
|---:|---:|---:|---|
| 1 | 14 | 16 | late by one day |
| 2 | 16 | 16 | without a mistake |
| 3 | 9 | 16 | the induction was missing |
| 4 | 13 | 16 | much better, see the notes of Tuesday |
"""

_TABS = """Steps for the experiment:

\t- open the measurement book
\t\t- page\t12, with the calibration of the scale
\t\t- page\t14, with the table of errors
\t- switch on the laser, and wait ten minutes
\t\t- never look into the beam
\t\t- close the red shutter first
\t- write down temperature and pressure
\t- repeat the measurement five times, each at another angle

Settings of the script:

```python
def fit(points, order=2):
\tif len(points) < order:
\t\traise ValueError("too few points")
\treturn polynomial(points, order)
```

\tName\tValue\tUnit
\tlength\t0.412\tmetres
\tmass\t1.250\tkilograms
"""

_CODE = """# Notes about the project

The repository is private; she builds it with `make all`. The configuration is in `settings/local.toml`, and **must
not** be committed. Tests run with `pytest -q`, and take about three minutes.

```toml
[server]
host = "localhost"
port = 8080
workers = 4

[cache]
ttl = 300
path = "/var/cache/app"
```

1. Clone the repository and install the tools.
2. Copy `example.toml` to `settings/local.toml`, then change the port.
3. Start the server with `make run`, and open the page in a browser.
4. When it says "address in use", stop the old process first.

> The reviewer said: "Please don't merge on Fridays."
> She agreed, and moved the release to Monday.

See [the guide](https://example.org/guide) for the names of branches, and [the board](https://example.org/board) for
what is open. The branch of last week is called `feature/long-names`; it waits for a review by Ines.
"""

_CJK = """# 学習ノート

彼女は毎朝六時に起きて、三十分だけ日本語を読む。目標は来年七月に日本語能力試験の二級に合格することだ。
先週の模擬試験は１８０点のうち１１２点だった。読解はよくできたが、聴解はまだ難しいと言っていた。

- 月曜日：漢字を二十個おぼえる（教科書の第九課）
- 水曜日：友達と電話で話す
- 金曜日：短い日記を書いて、先生に送る

「間違えることは恥ずかしくない」と先生は言った。それから彼女は授業でもっと話すようになった。

## 中文部分

她想在明年春天去上海学习半年，因为她的奶奶住在那里。老师说她的发音很清楚，但是写字太慢。
每个星期二晚上八点有网上课程，内容是新闻和简单的对话。作业要在星期四以前交给老师。
"""

_CYRILLIC = """# Заметки о Вере

Вера учится на втором курсе и живёт в общежитии на улице Гагарина. Она говорит: «Мне легче думать вслух», поэтому
уроки проходят по телефону, каждую среду в 17:30. После урока она сама записывает, что было трудно.

- Математика: производные повторить до 20 октября
- Физика: лабораторная работа № 4, отчёт на три страницы
- Английский: читать вслух по десять минут в день
    - книга из библиотеки, главы с пятой по седьмую
    - незнакомые слова выписывать в тетрадь

Ей нужно 60 % баллов, чтобы получить стипендию; сейчас у неё 54 %. Экзамен будет 15 января в аудитории 212.
"""

_FORMS = """# Café Zoë – opening hours

The café is closed on Mondays. Zoë’s naïve plan was to open at 6:00; now it’s 7:30… and even that is early.
Entrée and crème brûlée cost 14 €, on Sundays 16 €. Groups of more than 10 people get 15 % off, says Renée.

- Tuesday – Friday: 7:30–18:00
- Saturday: 9:00–17:00, with live music by “Les Élèves”
- Sunday: 10:00–14:00 (brunch only…)

Her mother’s recipe needs 250 g of flour, 3 eggs and a pinch of salt. It has to rest for 30 minutes at 21 °C.
"""

_CRLF_PROSE = _PROSE.replace("aloud to her sister. ", "aloud to her sister. \t\n")

TEXTS: dict[str, str] = {
    "prose": _PROSE.replace(" %", "\u00a0%").replace("at 9:30. ", "at 9:30.  \n"),
    "list": _LIST,
    "table": _TABLE,
    "tabs": _TABS,
    "code": _CODE,
    "cjk": _CJK,
    "cyrillic": _CYRILLIC.replace(" %", "\u00a0%").replace("№ ", "№\u00a0").replace("трудно.\n", "трудно.   \n"),
    "forms": _FORMS.replace(" €", "\u00a0€").replace("only…)\n", "only…)  \n"),
    "crlf": (_LIST + _CRLF_PROSE).replace("\n", "\r\n"),
    "all": "\n".join((_CODE, _TABLE, _PROSE, _CJK, _TABS)),
    "decomposed": unicodedata.normalize("NFD", _FORMS),
}
