"""Every construct of CommonMark and of GitHub's tables and strikethrough, in each place that can hold words."""

#: Where WORDS stands, an author can write what they like.
CONSTRUCTS: tuple[str, ...] = (
    # Blocks of words.
    "WORDS", "WORDS\nand on", "one  \nWORDS", "one\\\nWORDS", "   WORDS", "a\tWORDS", "WORDS   ", "# WORDS",
    "###### WORDS ######", "#\tWORDS #", "# a # WORDS #", "#WORDS", "####### WORDS", "#", "WORDS\n===",
    "WORDS\nand\n---", "  WORDS\n  ---  ", "> WORDS\n---", "- WORDS\n---", "***", "- - -", "___", "**  * ** * **",
    "+++", " * * *\nWORDS\n ___",
    # Code.
    "    WORDS", "\tWORDS\n\n      WORDS", "a\n\n    WORDS\n    b", "```\nWORDS\n```", "~~~\nWORDS\n~~~",
    "```WORDS\nx\n```", "```  python WORDS \nx = 1\n````", "~~~ `WORDS`\nx\n~~~", "```\nWORDS",
    "   ```\n   WORDS\n  ```", "> ```WORDS\n> x\n> ```", "- ```WORDS\n  x\n  ```", "```\n\n  WORDS\n\n```",
    "> ```\nWORDS", "```\n```WORDS", "1. ~~~ WORDS\n   ~~~",
    # HTML, which is shown as text.
    "<!-- WORDS -->", "<!--\nWORDS\n-->", '<b class="WORDS">x</b>', '<div title="WORDS">\n\nx\n\n</div>',
    "<script>\nWORDS\n</script>", "a <!-- WORDS --> b", "<?WORDS?>", "<!WORDS>", "<![CDATA[WORDS]]>",
    '<a href="WORDS">', "> <!-- WORDS -->", "- <!-- WORDS\n  -->", '| <b title="WORDS"> |\n|--|',
    # Definitions of links.
    "[a]: /WORDS", '[a]: /u "WORDS"', "[a]: /u 'WORDS'", "[a]: /u (WORDS)", "[WORDS]: /u", "[//]: # (WORDS)",
    "[a]:\n/WORDS", '[a]: /u\n"WORDS"', '[a]: /u "one\nWORDS\nthree"', "[a]: <WORDS>",
    "[a]: /u\n[b]: /WORDS\n[c]: /w", "> [a]: /WORDS", "- [//]: # (WORDS)", "1. x\n\n   [//]: # (WORDS)",
    "> > [//]: # (WORDS)", "> - [//]: # (WORDS)", "x\n\n[//]: # (WORDS)\n\ny", "> x\n>\n> [//]: # (WORDS)\n>\n> y",
    "- x\n\n  [//]: # (WORDS)\n- y", "[a]\n\n[a]: /WORDS", "[a]: /one\n[a]: /WORDS", "[a]: /u WORDS",
    "# x\n[//]: # (WORDS)\n# y", "[foo\nWORDS]: /u", "    [a]: /WORDS",
    # Lists and quotes.
    "- WORDS", "* WORDS\n+ b", "1. WORDS", "7. a\n8. WORDS", "1) a\n7391) WORDS", "1. a\n7391. two",
    "0. a\n5. b\n5. c", "- a\n  - WORDS", "- a\n\n  WORDS", "-\n  WORDS", "- \n- WORDS", "-\tWORDS",
    "10) a\n   - WORDS", "- a\n- \n- b", "-", "1.", "- [ ] WORDS", "- [x] WORDS", "- # WORDS", "- > WORDS",
    "- - WORDS", "1. - 2. WORDS", "1. 1. 1", "- ---", "- a\nWORDS", "> WORDS", ">WORDS\nlazy", "> a\n>\n> WORDS",
    "> > WORDS", ">> a\n> WORDS", "> # WORDS", "> - WORDS\n>   b", ">", ">\n> \n>a", "> 1. WORDS\n> 2. b",
    "-   a\n\n    > WORDS\n    >\n    > b", "> ---", "> a\n***\n> WORDS",
    # Tables.
    "| a | WORDS |\n|---|---|\n| c | d |", "|a|\n|-|\n|WORDS|", "a | b\n:-:|-:\nWORDS | d",
    "| a |\n|---|\n| b | WORDS |", "| a |\n|---|\n| b | c | WORDS", "| a | b |\n|---|---|\n| WORDS |",
    "| a |\n|---|\n| x \\| WORDS |", "| a |\n|---|\n| `x \\| WORDS` |", "> | a |\n> |---|\n> | b | WORDS |",
    "- | a |\n  |---|\n  | b | WORDS |", "1. | 1 |\n   |---|\n   | 1 | WORDS |", "| a |\n|---|\nWORDS",
    "| a | b |\n|---|---|\n|  | WORDS |", "| a | b |\n|---|---|\n| | | WORDS |",
    "| **a** |\n|---|\n| [x](/WORDS 't') | y |", "|a|\n|:-|\n", "|a|b|\n|-|-|\n|1|2|\n\n| WORDS |",
    "| a |\n| --- |\n| b | | WORDS | |", "| a |\n|---|\n|| WORDS |", "|a|\n|-|\n|!!!|???|",
    # Words with marks.
    "*WORDS*", "**WORDS**", "_WORDS_", "__WORDS__", "***WORDS***", "~~WORDS~~", "**a *WORDS* b**", "*a **WORDS***",
    "a*WORDS*b", "* WORDS*", "**WORDS", "5*3 WORDS", "`WORDS`", "`` a`WORDS ``", "`a\nWORDS`", "` WORDS `", "a `b",
    "**a\nWORDS**", "\\*WORDS\\*", "\\# WORDS", "a\\b WORDS", "\\\\WORDS", "&amp; WORDS", "&#83;WORDS", "&#x53;",
    "&copy;&nbsp;WORDS", "&#0; WORDS", "&WORDS;", "&#10;WORDS", "# &#35;", "| &#124; |\n|--|", "`&#83;`", "\\&#83;",
    # Links and images.
    "[a](/WORDS)", "[WORDS](/u)", '[a](/u "WORDS")', "[a](/u 'WORDS')", "[a](</WORDS x>)", "[a]( /u\n'WORDS' )",
    "[**a** WORDS](/u)", "[a][WORDS]", "[a][b]\n\n[b]: /WORDS", "[a][]\n\n[a]: /WORDS", "[a]\n\n[a]: /u 'WORDS'",
    "[](/WORDS)", "[a](WORDS", "[a] (WORDS)", "[a](&#87;ORDS)", "[a](/%57ORDS)", '[a](/u "&#87;ORDS")',
    "[a](\\(WORDS\\))", "[[a](/WORDS)](/v)", "[a](javascript:WORDS)", "![WORDS](/u)", "![a](/WORDS)",
    '![a](/u "WORDS")', "![](/WORDS)", "![a][b]\n\n[b]: /u 'WORDS'", "[![a](/WORDS)](/v)", "![a ![b](/WORDS)](/v)",
    "<https://WORDS.example>", "<https://a.example/%57ORDS?é>", "<words@WORDS.example>", "https://WORDS.example",
    "<WORDS>", "[^1] x\n\n[^1]: WORDS",
    # Front matter, line ends and the like.
    "---\nname: WORDS\n---\n\ntext", "---\nWORDS\n---", "---\n\nWORDS\n---", "---\na: b\n...\nWORDS",
    "a\r\nWORDS\r\n", "a\rWORDS", "\n\nWORDS\n\n", "WORDS\f", "a\x0bWORDS", "> a\r> WORDS", "\u2028WORDS",
    "[a]: /u\r\n  'WORDS'\r\n", "e\u0301WORDS", "$WORDS$", "==WORDS==", "{: WORDS}",
)  # fmt: skip
WORDS = "ZQsecret 7391 always"


def written(construct: str, words: str = WORDS) -> str:
    return construct.replace("WORDS", words)
