"""A finished figure on a dark ground: greys change places, colours stay, and afterwards all is as it was."""

import colorsys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

GROUND = np.array([0x16, 0x19, 0x1C]) / 255.0  # of our pages at night
INK = np.array([0xE4, 0xE6, 0xE8]) / 255.0
_GREY = 0.10  # a colour whose channels differ by less is no colour
_PALE, _TINT = 0.8, 0.82
_LEAST = 0.42  # of the lightness of a colour that lines and words have, so that it is seen on the ground


@contextmanager
def on_dark_ground(figure: Figure) -> Iterator[None]:
    """Inside, the figure has a dark ground. Call inside `house_style`: ticks are made when a figure is drawn."""
    figure.draw_without_rendering()
    undo: list[Callable[[], None]] = []
    try:
        for artist in figure.findobj():
            behind = artist.get_bbox_patch() if isinstance(artist, Text) else None
            if behind is not None and _stays(behind.get_facecolor()):
                continue  # words on a coloured ground of their own: the one was chosen for the other
            undo += _recoloured(artist)
            undo += _recoloured(behind) if behind is not None else []
        yield
    finally:
        for back in undo:
            back()


def _recoloured(artist: Artist) -> Sequence[Callable[[], None]]:
    """Recolour one artist; returns what takes the changes back."""
    # All is read before anything is changed: the colour of a marker follows that of its line.
    found = [(_unseen_is_none(get()), put) for get, put in _colours(artist)]
    alpha = artist.get_alpha() if isinstance(artist, Patch | Collection) else None
    if alpha is not None:
        artist.set_alpha(None)  # it is in the colours that were read, and must not count twice
    for before, put in found:
        put(_darkened_all(before))

    def back() -> None:
        for before, put in found:
            put(before)
        if alpha is not None:
            artist.set_alpha(alpha)

    return [back] if found else []


def _colours(artist: Artist) -> Iterable[tuple[Callable[[], Any], Callable[[Any], object]]]:
    if isinstance(artist, Text):
        yield artist.get_color, artist.set_color
    elif isinstance(artist, Line2D):
        yield artist.get_color, artist.set_color
        yield artist.get_markerfacecolor, artist.set_markerfacecolor
        yield artist.get_markeredgecolor, artist.set_markeredgecolor
    elif isinstance(artist, Patch | Collection):
        yield artist.get_edgecolor, artist.set_edgecolor
        yield artist.get_facecolor, artist.set_facecolor


def _unseen_is_none(colour: Any) -> Any:
    """`none` for what is not seen: given back as black of no strength, it would take the strength of its artist."""
    if isinstance(colour, str):
        return colour
    colours = to_rgba_array(colour)
    return "none" if len(colours) and not colours[:, 3].any() else colour


def _stays(colour: Any) -> bool:
    """Is this a colour that looks alike on either ground?"""
    rgb = to_rgba_array(colour)[0][:3]
    return bool(np.allclose(darkened(rgb), rgb))


def _darkened_all(before: Any) -> Any:
    if isinstance(before, str) and before in ("none", "auto"):
        return before
    colours = to_rgba_array(before)
    changed = [(*map(float, darkened(one[:3])), float(one[3])) for one in colours]
    return changed[0] if len(changed) == 1 else changed


def darkened(colour: Any) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """A colour for a dark ground: of a grey the one that is as far from the ink as it was from black; else the colour
    itself, made lighter or, of a pale one, darker where it would hardly be seen."""
    rgb = np.asarray(colour, dtype=float)
    lightness = float(rgb @ (0.299, 0.587, 0.114))
    if float(rgb.max() - rgb.min()) < _GREY:
        return INK + (GROUND - INK) * lightness
    if lightness > _PALE:  # a tint of white becomes the same tint of the ground
        hue, light, saturation = colorsys.rgb_to_hls(*map(float, rgb))
        return np.asarray(colorsys.hls_to_rgb(hue, 1.0 - _TINT * light, 0.5 * saturation))
    if lightness < _LEAST:
        share = (_LEAST - lightness) / (1.0 - lightness)
        return rgb + (1.0 - rgb) * share
    return rgb
