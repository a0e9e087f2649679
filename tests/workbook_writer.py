"""Workbooks written by hand, cell by cell: the oracle of the readers is what was put in."""

import zipfile
from datetime import date
from xml.sax.saxutils import escape, quoteattr

#: Styles of cells by number: usual, a date, a percentage, and a format of its own.
DATE, PERCENT, OWN_DATE = 1, 2, 3
_STYLES = (
    '<styleSheet xmlns="m"><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>'
    '<xf numFmtId="14"/><xf numFmtId="9"/><xf numFmtId="170"/></cellXfs></styleSheet>'
)


def letters(j):
    text = ""
    j += 1
    while j:
        j, rest = divmod(j - 1, 26)
        text = chr(65 + rest) + text
    return text


def xlsx_cell(i, j, value, strings):
    place = f'r="{letters(j)}{i + 1}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {place} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        return f'<c {place} s="{OWN_DATE}"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, str) and value.startswith("#"):
        return f'<c {place} t="e"><v>{value}</v></c>'
    if isinstance(value, str):
        strings.append(value)
        return f'<c {place} t="s"><v>{len(strings) - 1}</v></c>'
    return f"<c {place}><f>1+1</f><v>{value!r}</v></c>"


def write_xlsx(path, sheets, hidden=()):
    """``sheets`` maps names to rows of cells."""
    strings = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        tabs, relations = "", ""
        for number, (name, rows) in enumerate(sheets.items(), 1):
            body = "".join(
                f'<row r="{i + 1}">'
                + "".join(xlsx_cell(i, j, value, strings) for j, value in enumerate(row))
                + "</row>"
                for i, row in enumerate(rows)
            )
            sheet = f'<worksheet xmlns="m"><sheetData>{body}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{number}.xml", sheet)
            state = ' state="hidden"' if name in hidden else ""
            tabs += f'<sheet name={quoteattr(name)}{state} r:id="rId{number}"/>'
            relations += (
                f'<Relationship Id="rId{number}" Type="http://x/worksheet" '
                f'Target="worksheets/sheet{number}.xml"/>'
            )
        book = f'<workbook xmlns="m" xmlns:r="r"><sheets>{tabs}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f"<Relationships>{relations}</Relationships>"
        )
        archive.writestr("xl/styles.xml", _STYLES)
        shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="m">{shared}</sst>')
    return path


def _ods_cell(value):
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, date):
        return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
    if isinstance(value, str):
        said = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{said}</table:table-cell>'
    # What is shown is rounded; what is meant is the attribute.
    return (
        f'<table:table-cell office:value-type="float" office:value="{value!r}">'
        f"<text:p>{value:.1f}</text:p></table:table-cell>"
    )


def write_ods(path, sheets):
    """The same; behind the last row and column the sheet is filled up, as programs do."""
    fill = '<table:table-cell table:number-columns-repeated="16000"/>'
    end = f'<table:table-row table:number-rows-repeated="1048000">{fill}</table:table-row>'
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>"
        + "".join(
            f"<table:table-row>{''.join(map(_ods_cell, row))}{fill}</table:table-row>"
            for row in rows
        )
        + f"{end}</table:table>"
        for name, rows in sheets.items()
    )
    spaces = 'xmlns:office="o" xmlns:table="t" xmlns:text="x"'
    content = f"<office:document-content {spaces}>{tables}</office:document-content>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return path
