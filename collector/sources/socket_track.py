"""How far a named writer has been heard and stored, in its own line numbers.

The flow counts bytes, a writer counts lines. Every block's mark holds two places that belong
together, (bytes, lines): the block's end, and an older one that no unfinished record can reach back
behind. A restart goes on at the end if all of it is stored, else at the older place; the writer
sends its lines again from there and what lies before `resume` is left out.
"""

from collections import deque
from dataclasses import dataclass, field

from collector.contracts import StreamPosition
from collector.sources.line_cutter import Cut

Place = tuple[int, int]


@dataclass(slots=True)
class Track:
    """One writer: `heard` is (bytes, lines) given to the flow, `stored` the lines acknowledged."""

    stream: str
    heard: Place = (0, 0)
    # Bytes of the stream below this were stored by an earlier start.
    skip_to: int = 0
    stored: int = 0
    seen_s: int = 0
    _safe: Place = (0, 0)
    _places: deque[Place] = field(default_factory=deque)
    # (end of a block in bytes, lines of the older place in its mark)
    _marks: deque[Place] = field(default_factory=deque)

    def take(self, cut: Cut) -> Cut | None:
        """Count a cut; what of it is new, or None."""
        self.heard = (cut.end, self.heard[1] + cut.lines)
        self._places.append(self.heard)
        if cut.end <= self.skip_to:
            return None
        if cut.start < self.skip_to and cut.data:
            return Cut(cut.data[self.skip_to - cut.start :], self.skip_to, cut.end, cut.lines)
        return cut

    def leap(self, line: int) -> None:
        """The writer no longer has what lies before `line`."""
        self.heard = (max(self.heard[0], self.skip_to), line - 1)
        self._places.append(self.heard)

    def mark(self, now_s: int) -> bytes:
        """What finds this place again after a restart; for a block that ends where we stand."""
        self.seen_s = now_s
        self._marks.append((self.heard[0], self._safe[1]))
        return b"1 %d %d %d %d" % (self.heard[1], *self._safe, now_s)

    def consumed(self, resume: int, read_to: int) -> int:
        """After a commit: how many of the writer's lines can no longer be lost."""
        while self._places and self._places[0][0] <= resume:
            self._safe = self._places.popleft()
        older = None
        while self._marks and self._marks[0][0] <= read_to:
            older = self._marks.popleft()
        if resume >= read_to:
            self.stored = max(self.stored, self._safe[1])
        elif older is not None:
            self.stored = max(self.stored, older[1])
        return self.stored


def restored(position: StreamPosition) -> Track | None:
    """A writer's place as committed; None if the mark is none of ours."""
    words = position.mark.split()
    if len(words) != 5 or words[0] != b"1" or not all(word.isdigit() for word in words):
        return None
    lines, old_bytes, old_lines, seen_s = (int(word) for word in words[1:])
    if position.resume >= position.read_to:
        start = (position.read_to, lines)
    else:
        start = (old_bytes, old_lines)
    return Track(
        position.stream, start, position.resume, stored=start[1], seen_s=seen_s, _safe=start
    )
