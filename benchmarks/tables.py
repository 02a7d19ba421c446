"""Tables of results: on a terminal, in a pipe, and as Markdown to paste."""

from collections.abc import Sequence

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text


class Table(msgspec.Struct, frozen=True):
    """Rows of text under a title; every row is as long as `columns`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def to_markdown(table: Table) -> str:
    """Give the table as Markdown, its title as a heading."""
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    body = "".join(f"| {' | '.join(_escaped(cell) for cell in line)} |\n" for line in lines)
    return f"### {table.title}\n\n{body}"


def show(tables: Sequence[Table], console: Console) -> None:
    """Write tables: drawn on a terminal, as Markdown in a pipe."""
    for table in tables:
        if not console.is_terminal:
            console.print(Text(to_markdown(table)), soft_wrap=True)
            continue
        drawn = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
        for position, column in enumerate(table.columns):
            is_figure = 0 < position < len(table.columns) - 1
            drawn.add_column(column, justify="right" if is_figure else "left")
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        console.print(drawn)


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
