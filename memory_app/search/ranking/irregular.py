"""English words whose forms no stemmer brings together: "went" is "go", "children" is "child".

Belongs here: that table, nothing else. Forms that are other words as often ("saw", "left", "found", "felt", "lay",
"ground", "wound") stand under the verb they usually are.
"""

from __future__ import annotations

_FORMS = """
bear bore borne born; beat beaten; become became; begin began begun; bend bent; bind bound; bite bit bitten;
bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought;
catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grind ground;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known;
lay laid; lead led; learn learnt; leave left; lend lent; light lit; lose lost; make made; mean meant; meet met;
pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought;
sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk;
sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun;
spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove striven;
swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn;
weave wove woven; win won; write wrote written;
man men; woman women; child children; foot feet; tooth teeth; mouse mice; person people; life lives; wife wives;
knife knives; leaf leaves; half halves; good better best; bad worse worst
"""

#: Irregular form → root form.
ROOTS = {form: root for root, *forms in (entry.split() for entry in _FORMS.split(";")) for form in forms}
