"""What is told, and whether it was true: each scene is timed, and each claim checked before it is printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from superpeer.cli.output import print_table, printable
from superpeer.demo.backbone import DemoFailed


@dataclass
class Scene:
    title: str
    claims: int = 0
    took_s: float = 0.0


@dataclass
class Stage:
    """The screen, and the book of what was claimed."""

    scenes: list[Scene] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def scene(self, title: str) -> Iterator[None]:
        scene = Scene(title)
        self.scenes.append(scene)
        self._print(f"\n{len(self.scenes)}. {title}", "1")
        started = time.monotonic()
        yield
        scene.took_s = time.monotonic() - started

    def say(self, text: str) -> None:
        self._print(f"   {text}", "")

    def check(self, is_true: bool, claim: str) -> None:
        """A claim that is not true ends the story."""
        if not is_true:
            raise DemoFailed(f"this is not so: {claim}")
        self.scenes[-1].claims += 1
        self._print(f"   ✓ {claim}", "32")

    def summarize(self) -> None:
        self._print("\nSummary", "1")
        rows = [[scene.title, scene.claims, f"{scene.took_s:.1f} s"] for scene in self.scenes]
        print_table(["", "checked", "took"], rows)
        claims = sum(scene.claims for scene in self.scenes)
        print(
            f"{claims} claims were checked, all are true, in {time.monotonic() - self.began:.1f} seconds.", flush=True
        )

    def _print(self, text: str, style: str) -> None:
        shown = printable(text)
        print(f"\x1b[{style}m{shown}\x1b[0m" if style and sys.stdout.isatty() else shown, flush=True)
