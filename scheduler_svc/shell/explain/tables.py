"""Answers for people: the verdict, the Nodes grouped by reason, the best Nodes' shares."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scheduler_svc.core.plugins.gang_scheduling import GangScheduling
from scheduler_svc.shell.explain.answer import Answer, NodeAnswer
from scheduler_svc.shell.explain.group_obstacles import is_obstacle
from scheduler_svc.shell.explain.memory import Decision

BEST_COUNT: Final = 5
_NAMES_SHOWN: Final = 4
_INDENT: Final = (0, 0, 0, 2)


def render(
    answer: Answer, *, best_count: int = BEST_COUNT, others: Sequence[str] = ()
) -> RenderableType:
    """Give what a person wants to know about one Pod, and about `others` with the same answer."""
    parts = [_verdict(answer), *_details(answer)]
    if others:
        names = _names([key.partition("/")[2] for key in others])
        count = "1 more Pod" if len(others) == 1 else f"{len(others)} more Pods"
        parts.insert(1, _line(f"and {count} alike: {names}"))
    rejected = [node for node in answer.nodes.values() if node.code]
    if rejected:
        parts.append(Padding(_rejections(answer), _INDENT))
    if answer.best:
        parts.append(Padding(_shares(_ranked(answer)[:best_count]), _INDENT))
    return Group(*parts, Text())


def render_decision(decision: Decision) -> RenderableType:
    """Give what a person wants to know about a decision that was made."""
    text = Text()
    text.append(decision.pod, style="bold")
    where = f" to {decision.node_name}" if decision.node_name else ""
    text.append(f": {decision.result}{where}")
    text.append(f" at {decision.time}, attempt {decision.attempt}", style="dim")
    if decision.id:
        text.append(f", decision {decision.id}", style="dim")
    parts: list[RenderableType] = [text]
    if decision.message:
        parts.append(_line(decision.message))
    if decision.best:
        ranked = [
            (node.name, NodeAnswer(scores=dict(node.scores), total=node.total))
            for node in decision.best
        ]
        parts.append(Padding(_shares(ranked), _INDENT))
    return Group(*parts, Text())


def _verdict(answer: Answer) -> Text:
    """Say first what is true of the Pod, be it that it is held back."""
    text = Text()
    text.append(answer.pod, style="bold")
    held_back = _held_back(answer)
    if held_back:
        text.append(f": {held_back}", style="yellow")
    else:
        text.append_text(_judgement(answer, after=": "))
    return text


def _held_back(answer: Answer) -> str:
    """Say why the Pod is not placed by itself, wherever it fits; "" where it may be."""
    if answer.error:
        return ""
    if answer.pre_enqueue_plugin == GangScheduling.name:
        return f"waits for its group, which is not tried: {answer.pre_enqueue_message}"
    if answer.pre_enqueue_plugin:
        return f"not tried: {answer.pre_enqueue_plugin}: {answer.pre_enqueue_message}"
    if not answer.pod_group_message:
        return ""
    was_tried = not is_obstacle(answer.pod_group_message)
    how = "did not start when it was tried last" if was_tried else "is not tried"
    return f"waits for its group, which {how}: {answer.pod_group_message}"


def _judgement(answer: Answer, *, after: str) -> Text:
    """Say what the Nodes are to the Pod alone, after a word or two."""
    text = Text()
    feasible = sum(node.total is not None for node in answer.nodes.values())
    if answer.error:
        text.append(f"{after}the attempt fails", style="red")
    elif answer.pre_filter_code:
        text.append(f"{after}turned away before any Node is looked at", style="red")
    elif not feasible:
        text.append(f"{after}fits on none of {len(answer.nodes)} Nodes", style="red")
    else:
        text.append(f"{after}fits on {feasible} of {len(answer.nodes)} Nodes", style="green")
        names, total = _names(answer.best), answer.nodes[answer.best[0]].total
        text.append(f"; best: {names} (total {total})")
    return text


def _standing(answer: Answer) -> Iterator[RenderableType]:
    """Say what else there is to a Pod than the verdict."""
    if _held_back(answer):
        is_of_group = answer.pod_group_message or answer.pre_enqueue_plugin == GangScheduling.name
        alone = "On its own: " if is_of_group else "Once it is: "
        yield Padding(_judgement(answer, after=alone), _INDENT)
    elif answer.last_message:
        yield _line(f"But when it was tried last: {answer.last_message}")
        yield _line(
            "That is older than this answer, or its scheduler decides otherwise"
            + (" (--config, --plugin)" if answer.waits_for_scheduler else "")
        )
    elif answer.best and answer.waits_for_scheduler:
        yield _line(
            f"Waits for the scheduler {answer.waits_for_scheduler}; "
            "`berthmaster diagnose` tells whether one serves that name"
        )


def _details(answer: Answer) -> Iterator[RenderableType]:
    yield from _standing(answer)
    if answer.pre_filter_nodes:
        yield _line(f"Only these were looked at: {_names(answer.pre_filter_nodes)}")
    if answer.pre_filter_plugin:
        yield _line(f"{answer.pre_filter_plugin}: {answer.pre_filter_message}")
    if answer.error:
        yield _line(answer.error)
    yield from _served(answer.served_names)
    if answer.fit_error:
        yield _line(answer.fit_error)
    post_filter = answer.post_filter
    if post_filter is not None and post_filter.nominated_node_name:
        yield _line(f"Room can be made on {post_filter.nominated_node_name}")
        if post_filter.victims:
            yield _line(f"by evicting {', '.join(post_filter.victims)}")


def _served(names: Sequence[str]) -> Iterator[RenderableType]:
    if names:
        yield _line(
            f"Served are: {', '.join(names)}; say so in the Pod: spec.schedulerName: {names[0]}"
        )
        overrides = f'{{"spec":{{"schedulerName":"{names[0]}"}}}}'
        yield _line(f"With kubectl run: --overrides='{overrides}'")


def _rejections(answer: Answer) -> Table:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, node in answer.nodes.items():
        if node.code:
            groups[node.plugin, "; ".join(node.reasons)].append(name)
    table = _table()
    table.add_column("Nodes", justify="right")
    for heading in ("Rejected by", "Reasons", "Which"):
        table.add_column(heading, overflow="fold")
    for (plugin, reasons), names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[1])):
        table.add_row(str(len(names)), plugin, reasons, _names(names))
    return table


def _ranked(answer: Answer) -> list[tuple[str, NodeAnswer]]:
    feasible = [(n, node) for n, node in answer.nodes.items() if node.total is not None]
    return sorted(feasible, key=lambda item: (-(item[1].total or 0), item[0]))


def _shares(best: Sequence[tuple[str, NodeAnswer]]) -> Table:
    table = _table()
    table.add_column("Best Nodes")
    for name, _ in best:
        table.add_column(name, justify="right", overflow="fold")
    for plugin in best[0][1].scores:
        table.add_row(plugin, *(str(node.scores.get(plugin, "")) for _, node in best))
    table.add_section()
    table.add_row("total", *(str(node.total) for _, node in best), style="bold")
    return table


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim")


def _line(text: str) -> RenderableType:
    return Padding(Text(text), _INDENT)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
