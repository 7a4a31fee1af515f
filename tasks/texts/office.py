"""Reads documents of Word and sheets of Excel, of untrusted origin."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from schemas.errors import SourceError
from tasks.progress import number_of
from tasks.transport.untrusted import LARGEST, read_bytes

LARGEST_PART = 20_000_000
"""Most bytes of a part of an Office document that is read as a whole."""
MOST_ROWS = 2**20
"""Of a sheet of Excel; openpyxl makes empty rows up to any number that a row says it has."""
_STREAMED = ("xl/worksheets/", "xl/sharedStrings.xml", "xl/media/", "word/media/")
"""Parts of Office documents that are not."""


def sheet_rows(path: Path, notes: list[str]) -> Iterator[tuple[int, list[Any]]]:
    """The numbers, as Excel shows them, and cells of the rows that are not empty of the first sheet with cells; last
    cells may lack.

    Further sheets with cells and hidden rows are named in ``notes``. Raises SourceError for a formula without its
    result.
    """
    import openpyxl

    with _office(path) as file:
        sheets, written = (
            openpyxl.load_workbook(file, read_only=True, data_only=results).worksheets for results in (True, False)
        )
        for one in (*sheets, *written):
            one.reset_dimensions()  # programs record a range smaller than the sheet, of which openpyxl reads no more
        filled = [at for at, one in enumerate(sheets) if _has_cells(one)]
        if not filled:
            return
        _name_unread(path, file, notes, set())
        sheet, formulas = sheets[filled[0]], written[filled[0]]
        if unread := [sheets[at].title for at in filled[1:]]:
            notes.append(f"{path}: not read: sheets {', '.join(unread)}; only {sheet.title} is")
        with sheet._get_source() as part:  # openpyxl does not say of a sheet that it streams which rows are hidden
            hidden = _hidden_rows(part)
        if hidden:
            notes.append(
                f"{path}: {number_of(hidden, 'hidden row')} read as all others; delete those that are not meant"
            )
        for number, (row, typed) in enumerate(zip(sheet.iter_rows(), formulas.iter_rows(), strict=True), 1):
            if number > MOST_ROWS:
                raise SourceError(f"{path}: more than {MOST_ROWS:,} rows, the most that Excel has; correct the file")
            for cell, formula in zip(row, typed, strict=True):
                if cell.value is None and cell.data_type == "n" and formula.data_type == "f":
                    raise SourceError(
                        f"{path}: {formula.coordinate}: a formula whose result is not in the file; open it in a "
                        "spreadsheet program, save it, and give that file"
                    )
            cells = [None if cell.data_type == "e" else _cell(cell.value) for cell in row]  # e: an error, as #NAME?
            if any(value is not None for value in cells):
                yield number, cells


def _has_cells(sheet: Any) -> bool:
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    return any(number > MOST_ROWS or any(cell is not None for cell in row) for number, row in rows)


_HIDDEN = re.compile(r'<row [^<>]*?\bhidden="(?:1|true)"[^<>]*+>\s*+<c ')
"""A row with a cell that a sheet hides."""
_BLOCK, _HEAD = 2**20, 2**12
"""Bytes of a sheet that are read at a time, and more than the head of a row has."""


def _hidden_rows(part: IO[bytes]) -> int:
    """How many rows with cells a sheet hides; it is read in blocks, as sheets may be too large for the memory."""
    count, rest = 0, ""
    while block := part.read(_BLOCK):
        text, end = rest + block.decode("latin-1"), 0
        for found in _HIDDEN.finditer(text):
            count, end = count + 1, found.end()
        begun = text.rfind("<row ", end)
        rest = text[begun:] if begun >= 0 and len(text) - begun < _HEAD else text[max(end, len(text) - 5) :]
    return count


def _cell(value: Any) -> Any:
    """A cell's value; Excel keeps whole numbers as fractions, dates as such, and control characters as ``_x000D_``."""
    if isinstance(value, str):
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value).replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_WRAPPERS = ("ins", "moveTo", "sdt", "sdtContent", "smartTag", "customXml", "fldSimple", "dir", "bdo")
_DROPPED = ("del", "moveFrom", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "fldData")
"""Elements of Word that hold text which python-docx passes over, and those without text of the final document."""


_PARTS = re.compile(
    r"(?:word|xl)/(?:threaded)?(header|footer|footnotes|endnotes|[Cc]omments|diagrams|charts|drawings)(?:/\w+?)?\d*\.xml"
)
"""Parts of Word and Excel with texts that are not read."""
_ELEMENTS = {
    **{"altChunk": "embedded files", "object": "embedded files", "pic": "pictures", "imagedata": "pictures"},
    **{"ddList": "drop-down fields", "checkBox": "check boxes"},  # of forms of older versions
    "numPr": "numbers and bullets of lists",
}
"""Elements that hold what is not read."""
_TEXT = re.compile(r"<(?:\w+:)?(?:t|text)(?: [^<>]*)?>\s*[^<\s]")


def document_text(path: Path, notes: list[str]) -> str:
    """The paragraphs and the cells of tables of a Word document, in order, a line each.

    The text is that after all tracked changes are accepted, with what is in content controls (their hints aside),
    fields, smart tags, text boxes (after their paragraph) and formulas; a character that only a font of symbols has
    is �. Other parts with text are named in ``notes``.
    """
    import docx
    from docx.oxml.ns import qn
    from docx.table import Table as WordTable

    with _office(path) as file:
        document = docx.Document(file)
        body = document.element.body
        styles = {one.get(qn("w:val")) for one in body.iter(qn("w:pStyle"))}
        styled = [inner for one in document.styles if one.style_id in styles for inner in one.element.iter()]
        found = {str(one.tag).rpartition("}")[2] for one in [*body.iter(), *styled]}
        _name_unread(path, file, notes, {_ELEMENTS[tag] for tag in found & set(_ELEMENTS)})
        if "vanish" in found:
            notes.append(f"{path}: hidden text is read as all other; delete what is not meant")
        _accept_revisions(body)
        _unwrap(body)
        lines = []
        for block in document.iter_inner_content():
            if isinstance(block, WordTable):
                lines += _table_lines(block)
            else:
                lines.append(block.text)
    return "\n".join(lines).strip()


def _name_unread(path: Path, file: IO[bytes], notes: list[str], unread: set[str]) -> None:
    """Add a line on parts with texts that are not read, and on ``unread``."""
    with ZipFile(file) as packed:
        parts = [(part[1].lower(), entry) for entry in packed.namelist() if (part := _PARTS.fullmatch(entry))]
        unread |= {name for name, entry in parts if _TEXT.search(packed.read(entry).decode(errors="replace"))}
    if unread:
        notes.append(f"{path}: not read: {', '.join(sorted(unread))}")


def _table_lines(table: Any) -> list[str]:
    """A line for each row, with the cells between tabs; a merged cell once, tables within a cell after its text."""
    shown, lines = set(), list[str]()
    for row in table.rows:
        cells = list({id(cell._tc): cell for cell in row.cells if cell._tc not in shown}.values())
        shown |= {cell._tc for cell in cells}
        lines.append("\t".join(cell.text for cell in cells))
        lines += [line for cell in cells for inner in cell.tables for line in _table_lines(inner)]
    return lines


def _accept_revisions(body: Any) -> None:
    """Remove what is not in the final document: deleted text, rows, cells and ends of paragraphs, and hints."""
    from docx.oxml.ns import qn

    marks = [(mark, mark.getparent().tag) for mark in body.iter(qn("w:del"), qn("w:cellDel"))]
    deleted_rows = [mark.getparent().getparent() for mark, tag in marks if tag in (qn("w:trPr"), qn("w:tcPr"))]
    joined = [mark.getparent().getparent().getparent() for mark, tag in marks if tag == qn("w:rPr")]
    hints = [mark.getparent().getparent() for mark in body.iter(qn("w:showingPlcHdr"))]  # as "Click to enter text."
    dropped = body.iter(f"{_MC}Fallback", *(qn(f"w:{name}") for name in _DROPPED))
    for element in [*deleted_rows, *dropped, *hints]:
        element.getparent().remove(element)
    for paragraph in reversed(joined):  # to the next one, as the mark of its end is deleted
        if paragraph.tag == qn("w:p") and (after := paragraph.getnext()) is not None and after.tag == qn("w:p"):
            place = after.find(qn("w:pPr"))
            for child in reversed([one for one in paragraph if one.tag != qn("w:pPr")]):
                after.insert(0 if place is None else 1, child)
            paragraph.getparent().remove(paragraph)


def _unwrap(body: Any) -> None:
    """Replace the elements that wrap text, or stand for it, by the text."""
    from docx.oxml.ns import qn

    for line_break in body.iter(qn("w:br")):
        line_break.attrib.pop(qn("w:type"), None)  # a new page or column is a new line, too
    for text in [one for ruby in body.iter(qn("w:rubyBase")) for one in ruby.iter(qn("w:t"))]:
        next(text.iterancestors(qn("w:ruby"))).addprevious(text)  # without its reading
    for symbol in [*body.iter(qn("w:sym")), *body.iter(qn("m:t"))]:
        if symbol.tag == qn("w:sym"):
            code = int(symbol.get(qn("w:char"), "0"), 16)
            symbol.text = chr(code) if 0x20 <= code < 0xD800 else "\ufffd"
        else:
            symbol.getparent().tag = qn("w:r")
        symbol.tag = qn("w:t")
    boxes = [*body.iter(qn("w:txbxContent"))]
    for box in reversed(boxes):  # the last one first, as each goes after its paragraph
        paragraph = next(box.iterancestors(qn("w:p")))
        for child in reversed(box):
            paragraph.addnext(child)
    formulas = [one for one in body.iter() if isinstance(one.tag, str) and one.tag.startswith(qn("m:t")[:-1])]
    choices = body.iter(f"{_MC}AlternateContent", f"{_MC}Choice")
    for wrapper in [*choices, *formulas, *body.iter(*(qn(f"w:{name}") for name in _WRAPPERS))]:
        for child in list(wrapper):
            wrapper.addprevious(child)
        wrapper.getparent().remove(wrapper)


@contextmanager
def _office(path: Path) -> Iterator[io.BytesIO]:
    """The file for a reader of Office documents, whose errors become SourceError; too large ones are refused."""
    raw = read_bytes(path)
    try:
        with ZipFile(io.BytesIO(raw)) as packed:
            parts = packed.infolist()
        whole = [entry.file_size for entry in parts if not entry.filename.startswith(_STREAMED)]
        for size, most in ((sum(entry.file_size for entry in parts), LARGEST), (sum(whole), LARGEST_PART)):
            if size > most:
                raise SourceError(f"{path}: unpacks to {size:,} bytes; expected at most {most:,}; divide the file")
        yield io.BytesIO(raw)
    except SourceError:
        raise
    except Exception as error:  # whatever the libraries raise for a damaged file
        raise SourceError(
            f"{path}: not a readable {path.suffix} file ({' '.join(str(error).split())[:120]})"
        ) from error
