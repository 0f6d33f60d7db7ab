"""Prose by ear: turns of phrase that nobody says aloud, each with what to write instead.

The lint looks for them in the notebooks, the builder in exercises, hints and diagnoses. What a pattern cannot see, a reader
must: short sentences, the subject first, a beginner's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PLACE = (
    r"(?i:To|At|In|From|On|With|Behind|Before|After|Under|Above|Below|Through|Into|Between|Beside|Out of|Off)"
)
_GOES = r"(?:goes|go|comes|come|stands|stand|lies|lie|leads|lead|sits|sit|hangs|hang|waits|wait|follows|arrives|arrive)"

STIFF = [
    (r"\bHere (?:they are|it is), (?:both|all|twice|one)\b", 'the verb is missing: "Here it is, for both"'),
    (
        rf"(?:^|(?<=[.;:!?] )){_PLACE} (?:the |a |an |each |every |this |that |its )?`?[\w.\[\]]+`?"
        rf"(?: \w+)?(?: of `?\w+`?)? {_GOES} (?!from\b|to\b|out\b|in\b|on\b|back\b|with\b|at\b|into\b|by\b|before\b|after\b)",
        "the subject comes last: begin with it",
    ),
    (
        r"\b(?:Then|Now|Here|There|So|First|Next|Afterwards) (?:comes?|goes|stands?|lies?|follows?) (?:the|a|an|two|three|what)\b",
        "the subject comes last: begin with it",
    ),
    (r"\bNor (?:is|are|does|do|did|has|have|can|was)\b", "two sentences, without Nor"),
    (r"\bSome \w+ (?:nobody|you|we)\b", "the object comes first: begin with who does it"),
    (r"\b[Ww]hoever\b", 'a person: "if you", or a thing: "what"'),
    (r"\bshall\b", 'who speaks so? "should", or the plain verb'),
    (r"\b(?:thereof|thereby|hereby|wherein|whereby|hence|thus|therein)\b", 'a word of laws: "so"'),
    (r"(?<!last )(?<!first )\bone (?:can|wants|sees|needs|must)\b", '"you"'),
    (
        r"\bfor (?:it|they|there|nobody|he|she|we|this|that) (?:is|was|are|were|has|had|have|would|will|can|does|do|needs?)\b",
        '"because", or a new sentence',
    ),
    (r"\b(?:something|anything) else than\b", '"other than"'),
    (r"\b(?:is|are) to (?:be|stay|go|learn|run|keep)\b", '"should"'),
    (r"\b(?:is|are) (?:wanted|asked for)\b", '"you want", "the question asks for"'),
    (r"\bof above\b", '"from above"'),
    (r"\bneeds? be\b", '"has to be"'),
    (
        r"(?<![Tt]here )\b(?:is|are|was|were) no (?:leaf|leaves|copy|copies|tensors?|numbers?|nodes?|views?|accumulators?|accident)\b",
        '"is not a"',
    ),
    (r"\b(?:became|becomes?) of\b", '"what happened to"'),
    (r"\bby way of\b", '"through"'),
    (r"\b[Aa]n? \w+ of (?:Python|PyTorch|NumPy)'s\b", '"a Python number"'),
    (r"[,;] for (?:its |the |a )?\w+ (?:is|are|needs?|has|have)\b", '"because", or a new sentence'),
    (r"\bbe had\b", '"you get"'),
    (r"\bbehind (?:`?(?:\w+\.)?(?:backward|forward|step)\b|(?:the|a) (?:loop|pass|break|call)\b)", '"after"'),
]
"""[(a pattern, what to write instead)]."""

_PATTERNS = [(re.compile(pattern, re.MULTILINE), instead) for pattern, instead in STIFF]
_CODE = re.compile(r"```.*?```", re.DOTALL)


def stiff(text: str) -> Iterator[str]:
    """What in a text nobody would say: the words, and what to write instead."""
    flat = re.sub(r"\s+(?:> )?", " ", _CODE.sub(" ", text).replace("\n\n", ".\n\n")).replace("**", "")
    for pattern, instead in _PATTERNS:
        for found in pattern.finditer(flat):
            yield f"{found[0].strip()!r}: {instead}"
