"""Resolves which column, array or features feed each datum of a model, before any value is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kdsl.binding.faults import cite, fault, join, listing, nearest
from kdsl.binding.table import Table, columns_of, headless
from kdsl.binding.truths import are_truths
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Datum, Model


class Request(NamedTuple):
    """What the user said about binding; see `bind` for each."""

    target: str | None
    features: Mapping[str, tuple[str, ...]]
    bindings: Mapping[str, str]
    onehot: bool | tuple[str, ...]


class FromColumn(NamedTuple):
    """One column of a table."""

    datum: Datum
    table: Table
    column: str


class FromArray(NamedTuple):
    """An array given by name; of one or two dimensions, text as objects, or sparse."""

    datum: Datum
    array: Any
    source: str
    features: bool = False


class FromFeatures(NamedTuple):
    """Several columns of a table, each called `prefix + name` there."""

    datum: Datum
    table: Table
    prefix: str
    names: tuple[str, ...]
    onehot: tuple[str, ...]
    chosen: bool = False


class FromDefault(NamedTuple):
    datum: Datum
    value: float


class FromSquare(NamedTuple):
    """A whole table as a matrix, of labels (`delta[k, k]`) or of ranges (`psi[i, m]`)."""

    datum: Datum
    table: Table


Source = FromColumn | FromArray | FromFeatures | FromDefault | FromSquare


def index_sizes(model: Model) -> dict[str, str]:
    """Index name -> size name, for every index over a range or a set of labels."""
    return {name: s.size for index in model.indices for name, s in zip(index.names, index.sets, strict=True)}


def first_size(model: Model) -> str:
    """The size of the first index set that is a range: the examples."""
    ranges = [s.size for index in model.indices for s in index.sets if not s.labelled]
    return ranges[0] if ranges else ""


def own_tables(model: Model) -> set[str]:
    """The data that may have a table for themselves: a matrix, and a point without an index."""
    return {d.name for d in model.data if len(d.sets) == 2 or (d.kind == "input" and not d.sets)}


def place_tables(model: Model, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Tables by size name (or by the datum that is the whole table); the key "" is the first index set."""
    sizes = index_sizes(model)
    alone = own_tables(model)
    placed: dict[str, Table] = {}
    for key, table in tables.items():
        if key == "":
            name = first_size(model)
        elif key in sizes or key in sizes.values():
            name = sizes.get(key, key)
        elif key in alone:
            name = key
        else:
            raise fault(
                "K523",
                f"{cite(table.source)} is bound to `{key}`, which is no index of the model `{model.name}`",
                help=nearest(key, [*sizes, *sorted(alone)]),
            )
        if name in placed:
            raise fault(
                "K523",
                f"two tables are bound to the index set 1..{name}: {cite(placed[name].source)} and "
                f"{cite(table.source)}",
                "each index set takes its rows from one table",
                "bind one of them to another index: `--data j:pairs.csv`",
            )
        placed[name] = table
    return placed


def feature_data(model: Model) -> tuple[str, ...]:
    """The data whose columns are the features of points: the inputs.

    In a model without any, the first matrix of numbers x[i, j] over two ranges, and the others with its columns.
    """
    inputs = tuple(d.name for d in model.data if d.kind == "input")
    matrices = [d for d in model.data if d.kind == "real" and is_matrix(d) and d.sets[0] != d.sets[1]]
    return inputs or tuple(d.name for d in matrices if d.sets[1] == matrices[0].sets[1])


def is_matrix(datum: Datum) -> bool:
    """Whether it has a row for each member of one range and a column for each of another."""
    return len(datum.sets) == 2 and not any(s.labelled for s in datum.sets)


def target_datum(model: Model) -> str:
    """The datum that `--target` binds: `y` if there is one, else the first that is not an input and has no default."""
    first = first_size(model)
    plain = [d for d in model.data if d.kind != "input" and [s.size for s in d.sets] == [first]]
    if any(d.name == "y" for d in plain):
        return "y"
    required = [d.name for d in plain if d.default is None]
    return required[0] if required else ""


def resolve(model: Model, tables: Mapping[str, Table], request: Request) -> dict[str, Source]:
    """One source for each datum, or one error that names every datum without one."""
    placed = place_tables(model, tables)
    arrays = {name: (value, table) for table in tables.values() for name, value in table.arrays.items()}
    check_request(model, request)
    errors: list[KdslError] = []
    found: dict[str, Source] = {}
    taken: dict[str, set[str]] = {}
    features = {d.name for d in model.data if d.name in feature_data(model) and not is_table_of_numbers(d, placed)}
    for datum in model.data:
        if datum.name in features:
            continue
        try:
            source = plain_source(model, datum, placed, arrays, request)
        except KdslError as error:
            errors.append(error)
            continue
        found[datum.name] = source
        if isinstance(source, FromColumn):
            taken.setdefault(datum.sets[0].size, set()).add(source.column)
        elif isinstance(source, FromSquare) and datum.name not in placed:
            taken.setdefault(datum.sets[0].size, set()).update(source.table.order)
    for datum in model.data:
        if datum.name not in features:
            continue
        try:
            used = taken.get(datum.sets[0].size, set()) if datum.sets else set()
            sharing = [d for d in model.data if d.name in features and shares_table(d, datum)]
            found[datum.name] = feature_source(datum, sharing, placed, arrays, request, used)
        except KdslError as error:
            errors.append(error)
    if errors:
        raise join(errors)
    return {datum.name: found[datum.name] for datum in model.data}


def is_table_of_numbers(datum: Datum, placed: Mapping[str, Table]) -> bool:
    """A matrix that is given as a table of its own."""
    return datum.kind != "input" and datum.name in placed


def check_request(model: Model, request: Request) -> None:
    names = [d.name for d in model.data]
    for name in (*request.bindings, *request.features):
        if name and name not in names:
            raise fault("K524", f"the model `{model.name}` has no datum `{name}` to bind", help=nearest(name, names))
    if request.target is not None and not target_datum(model):
        raise fault(
            "K524",
            f"the model `{model.name}` has no target: `{request.target}` cannot be bound",
            "its data are " + listing(names),
            "leave `--target` out, or bind by name: `--bind s=weight`",
        )


def plain_source(
    model: Model,
    datum: Datum,
    placed: Mapping[str, Table],
    arrays: Mapping[str, tuple[Any, Table]],
    request: Request,
) -> Source:
    """In this order: what the user said, an array or a column of that name, the format's label, the default."""
    is_target = datum.name == target_datum(model)
    said = request.bindings.get(datum.name) or (request.target if is_target else None)
    wanted = said or datum.name
    array = find_array(wanted, arrays)
    if array is not None:
        return FromArray(datum, *array)
    if len(datum.sets) == 2 and datum.name in placed:
        return FromSquare(datum, placed[datum.name])
    columns = matrix_columns(datum, placed, request)
    if columns is not None:
        return FromSquare(datum, columns)
    table = placed.get(datum.sets[0].size) if len(datum.sets) == 1 else None
    if table is not None and wanted in table.order:
        return FromColumn(datum, table, wanted)
    if said is not None:
        raise unknown_column(said, datum, table, arrays)
    if table is not None and is_target and table.label:
        return FromColumn(datum, table, table.label)
    if datum.default is not None:
        return FromDefault(datum, float(datum.default))
    raise unbound(datum, table, arrays, is_target)


def matrix_columns(datum: Datum, placed: Mapping[str, Table], request: Request) -> Table | None:
    """The columns of a matrix in the table of its rows: those asked for, or those with the prefix `name.`."""
    table = placed.get(datum.sets[0].size) if is_matrix(datum) else None
    if table is None:
        return None
    said = request.features.get(datum.name, ())
    check_columns(said, "", table)
    columns = said or tuple(c for c in table.order if c.startswith(f"{datum.name}."))
    return table.only(columns) if columns else None


def find_array(name: str, arrays: Mapping[str, tuple[Any, Table]]) -> tuple[Any, str] | None:
    """The array of that name; `X` is taken for `x` where only the case differs."""
    key = name if name in arrays else next((k for k in arrays if k.casefold() == name.casefold()), None)
    if key is None:
        return None
    value, table = arrays[key]
    source = f"the array `{key}`" if table.source.startswith("the ") else f"the array `{key}` of `{table.source}`"
    return value, source


def unknown_column(said: str, datum: Datum, table: Table | None, arrays: Mapping[str, tuple[Any, Table]]) -> KdslError:
    where = f"{cite(table.source)} has no column `{said}`" if table else f"there is no column or array `{said}`"
    known = [*(table.order if table else ()), *arrays]
    return fault("K520", f"{where}, to which `{datum.name}` is bound", headless(table), nearest(said, known))


def unbound(datum: Datum, table: Table | None, arrays: Mapping[str, tuple[Any, Table]], is_target: bool) -> KdslError:
    if not datum.sets:
        return unbound_single(datum)
    subscripts = ", ".join(s.size for s in datum.sets)
    if table is not None and table.order:
        option = "--target NAME" if is_target else f"--bind {datum.name}=NAME"
        return fault(
            "K521",
            f"nothing is bound to `{datum.name}`: {cite(table.source)} has no column of that name",
            columns_of(table),
            f"say which one it is: `{option}`",
        )
    columns = f"columns `{datum.name}.NAME`, " if is_matrix(datum) else ""
    table_of_its_own = f"{columns}a table (`--data {datum.name}:FILE`) or an array"
    what = {1: "a table or an array", 2: table_of_its_own}.get(len(datum.sets), "an array")
    given = f"given are {listing(list(arrays))}" if arrays else f"its size is [{subscripts}]"
    return fault(
        "K521",
        f"nothing is bound to `{datum.name}`",
        given,
        f"give {what} for it" + (", or a default in the spec" if datum.kind == "real" else ""),
    )


def unbound_single(datum: Datum) -> KdslError:
    """Of a datum without an index: one point, one number or one label."""
    if datum.kind == "input":
        why, help = "it is one point, without an index", f"give it a table of one row: `--data {datum.name}:FILE`"
    elif datum.kind == "real":
        why, help = "it is one number, without an index", f"declare it as a parameter (`param {datum.name} : real`)"
    else:
        why, help = "it is one label, without an index", "give it by name in an npz file"
    return fault("K521", f"nothing is bound to `{datum.name}`", why, help)


def feature_source(
    datum: Datum,
    sharing: Sequence[Datum],
    placed: Mapping[str, Table],
    arrays: Mapping[str, tuple[Any, Table]],
    request: Request,
    taken: set[str],
) -> Source:
    """An array of that name, or columns: those asked for, those with the prefix `name.`, or all that are left."""
    said = request.features.get(datum.name) or request.features.get("")
    array = find_array(request.bindings.get(datum.name, datum.name), arrays)
    if array is not None:
        return FromArray(datum, *array, features=True)
    table = placed.get(datum.name) or (placed.get(datum.sets[0].size) if datum.sets else None)
    if table is None or not table.order:
        raise unbound(datum, None, arrays, False)
    rivals = [d.name for d in sharing if find_array(d.name, arrays) is None]
    prefix = f"{datum.name}." if any(c.startswith(f"{datum.name}.") for c in table.order) else ""
    if prefix and len(rivals) == 1 and not all_prefixed(table, prefix, taken):
        prefix = ""
    if said:
        columns = [name.removeprefix(prefix) for name in said]
        check_columns(columns, prefix, table)
    elif prefix:
        columns = [c.removeprefix(prefix) for c in table.order if c.startswith(prefix)]
    else:
        if len(rivals) > 1 and not all(request.features.get(name) for name in rivals if name != datum.name):
            raise fault(
                "K527",
                f"the inputs {listing(rivals)} share {cite(table.source)}, and nothing says which columns are whose",
                columns_of(table),
                f"call them `{rivals[0]}.age`, `{rivals[1]}.age`, or name them with `--features`",
            )
        others = tuple(f"{name}." for name in rivals if name != datum.name)
        columns = [c for c in table.order if c not in taken and not (others and c.startswith(others))]
        columns = [c for c in columns if c not in (table.label, "qid")] if table.label else columns
    return chosen_features(datum, table, prefix, columns, request.onehot)._replace(chosen=bool(said))


def shares_table(first: Datum, second: Datum) -> bool:
    """Whether two inputs take their rows from one table; a point without an index has its own."""
    return first.sets[:1] == second.sets[:1] if second.sets else first.name == second.name


def all_prefixed(table: Table, prefix: str, taken: set[str]) -> bool:
    return all(c.startswith(prefix) for c in table.order if c not in taken)


def check_columns(columns: Sequence[str], prefix: str, table: Table) -> None:
    for name in columns:
        if prefix + name not in table.order:
            raise fault(
                "K520",
                f"{cite(table.source)} has no column `{prefix + name}`, which is asked for as a feature",
                headless(table),
                nearest(prefix + name, table.order),
            )


def chosen_features(
    datum: Datum, table: Table, prefix: str, columns: Sequence[str], onehot: bool | tuple[str, ...]
) -> FromFeatures:
    if not columns:
        raise fault(
            "K525",
            f"{cite(table.source)} has no column left for the input `{datum.name}`",
            f"{columns_of(table)}, and all of them are bound to something else",
            "check `--target` and `--bind`, and the delimiter of the file if it should have more columns",
        )
    if isinstance(onehot, tuple):
        check_columns([c for c in onehot if prefix + c not in table.order], prefix, table)
        expanded = tuple(c for c in columns if c in onehot)
    else:
        words = {name for name, cells in table.text.items() if not are_truths(cells)} if onehot else set()
        expanded = tuple(c for c in columns if prefix + c in words)
    return FromFeatures(datum, table, prefix, tuple(columns), expanded)
