/** The characters behind which some program begins a new cell. */
const SEPARATORS = ',;|\t\r\n';
/** The characters with which a formula begins, in both widths. */
const MARKS = '=+-@＝＋－＠';
/** Matches what programs skip in front of a formula, and the apostrophes that are written here. */
const SKIPPED = /['"\s]/;

/**
 * Returns the text with an apostrophe in front of each part that a spreadsheet could evaluate as a formula, whichever
 * character separates its cells. An apostrophe is in front of such a part in any case, so that taking away one of each
 * gives the text again. A tab or line break at the start gets one, too (CSV injection, see OWASP).
 */
export const withoutFormulas = (/** @type {string} */ text) => {
  const parts = [];
  let end = text.length;
  let isFormula = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text.charAt(at);
    if (MARKS.includes(character)) isFormula = true;
    else if (!SKIPPED.test(character)) isFormula = false;
    if (!isFormula || (at > 0 && !SEPARATORS.includes(text.charAt(at - 1)))) continue;
    parts.push(text.slice(at, end));
    end = at;
  }
  if (end > 0) parts.push(text.slice(0, end));
  const escaped = parts.reverse().join("'");
  return end === 0 || /^'*[\t\r\n]/.test(text) ? `'${escaped}` : escaped;
};

/** Returns a cell, always in quotes. Numbers are no formulas, also if they are negative. */
const csvCell = (/** @type {unknown} */ value) => {
  if (value === null || value === undefined) return '""';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `"${(typeof value === 'number' ? text : withoutFormulas(text)).replaceAll('"', '""')}"`;
};

/** Formats a row as CSV (RFC 4180). */
export const csvRow = (/** @type {readonly unknown[]} */ cells) => `${cells.map(csvCell).join(',')}\r\n`;

/** Formats rows as CSV. The columns are the fields of all rows. */
export const csvOf = (/** @type {readonly Record<string, unknown>[]} */ rows) => {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map(csvRow).join('');
};
