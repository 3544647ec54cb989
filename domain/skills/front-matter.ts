import { badManifest, type Place } from './manifest.ts';

/** The text may be untrusted. Every scalar is a string, as written. `fault` is the code of the problem. */
export type ParseYaml = (text: string) => { readonly value: unknown } | { readonly fault: string };

/** A field with the place where its value starts. */
export type Field = Place & { readonly text: string };

/** The lines of one field. `value` follows the colon in the first line. */
type Block = Place & { readonly name: string; readonly value: string; readonly more: string[] };

const FIELDS = ['name', 'description'] as const;
type FieldName = (typeof FIELDS)[number];

const QUOTED = 'put the whole text in double quotes, and write \\" for a quote in it';

/** Continues the field above: an item of a list, or the end of a list or object. */
const CONTINUATION = /^(?:-(?:\s|$)|[\]},])/;

/**
 * At the colon that ends the name of a field; a blank may be missing after the names that are read here. A line with a blank in an
 * unquoted name is text.
 */
const splitLine = (line: string): readonly [name: string, value: string] | null => {
  const glued = /^(name|description):(?=\S)/.exec(line);
  const colon = glued ? glued[1]!.length : line.search(/:(?:\s|$)/);
  if (colon < 1 || CONTINUATION.test(line)) return null;
  const name = line.slice(0, colon).trim();
  const quoted = /^(?:"([^"]*)"|'([^']*)')$/.exec(name);
  if (!quoted && /\s/.test(name)) return null;
  return [quoted?.[1] ?? quoted?.[2] ?? name, line.slice(colon + 1)];
};

const strayLine = (line: string, place: Place) =>
  badManifest(
    `has the line ${JSON.stringify(line.slice(0, 60))} between the fields: write a field as "name: value", indent a line that continues the field above by two blanks, and end the fields with a line ---`,
    place,
  );

/** Replaces tabs and other blanks in the indentation, because YAML does not allow them there. */
const withSpaces = (line: string): string => line.replace(/^\s+/, (blanks) => blanks.replaceAll('\t', '  ').replace(/[^ ]/g, ' '));

const indentOf = (line: string): number => line.search(/[^ ]|$/);

/** Ends a list or an object that the text of a name or a description has not started. */
const isEndOfNothing = (line: string, block: Block | undefined): boolean =>
  /^[\]}]/.test(line) && /^(?:name|description)$/.test(block?.name ?? '') && !/^[[{]/.test(block?.value ?? '');

/** `firstLine`: the line number in the file. */
const blocksOf = (lines: readonly string[], firstLine: number): Block[] => {
  const blocks: Block[] = [];
  const indent = indentOf(lines.find((line) => /^\s*[^\s#]/.test(line)) ?? '');
  for (const [index, line] of lines.entries()) {
    const own = line.slice(indent);
    const isFurther = line.trim() === '' || indentOf(line) > indent;
    if (!isFurther && line.trimStart().startsWith('#')) continue;
    const split = isFurther || indentOf(line) < indent ? null : splitLine(own);
    const place = { line: firstLine + index, column: line.length - (split?.[1].trimStart().length ?? line.trim().length) + 1 };
    if (split) blocks.push({ ...place, name: split[0], value: split[1].trim(), more: [] });
    else if (isFurther || (CONTINUATION.test(own) && !isEndOfNothing(own, blocks.at(-1)))) blocks.at(-1)?.more.push(own);
    else throw strayLine(line, place);
  }
  return blocks;
};

/** Joins lines as YAML does: with a space, or with a line break for each empty line between. */
const foldLines = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trim())
    .join('\n')
    .trim()
    .replace(/\n+/g, (breaks) => (breaks.length === 1 ? ' ' : breaks.slice(1)));

/** In a description, `#` belongs to the text. */
const withoutComment = (name: FieldName, text: string): string => (name === 'name' ? text.replace(/(?<=\S)\s+#(?:\s.*)?$/, '') : text);

/**
 * A text that starts with a quote, but is not a valid quoted text of YAML. A quote at its end belongs to the first, unless another in
 * between does, as in `"a" and "b"`.
 * @throws Refusal invalid if the closing quote is missing, or if a backslash makes the text ambiguous
 */
const looselyQuoted = (text: string, { name, ...place }: Block): string => {
  const quote = text[0]!;
  const inner = text.slice(1, -1);
  const ends = text.length > 1 && text.endsWith(quote);
  if (!ends && !text.slice(1).includes(quote))
    throw badManifest(`has a ${name} that starts with ${quote} without another one at its end: ${QUOTED}`, place);
  const at = inner.search(quote === '"' ? /(?<!\\)"/ : /'/);
  const isClosing = at >= 0 && /\S/.test(inner[at - 1] ?? ' ') && !/[\p{L}\p{N}]/u.test(inner[at + 1] ?? '');
  if (!ends || isClosing) return text;
  if (quote === '"' && /\\(?!["\\])/.test(inner))
    throw badManifest(`has a ${name} with a backslash that means nothing in double quotes: write \\\\ for it, or use single quotes`, place);
  return quote === '"' ? inner.replace(/\\(["\\])/g, '$1') : inner.replaceAll("''", "'");
};

/** A quoted text with a comma after it, as in an object of JSON whose braces are missing. */
const QUOTED_ITEM = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*,$/;

const withoutComma = (block: Block): Block =>
  block.more.some((line) => line.trim() !== '') ? block : { ...block, value: block.value.replace(QUOTED_ITEM, '$1') };

const BLOCK_SCALAR = /^[|>](?:[+-]?[1-9]?|[1-9][+-])(?:\s+#.*)?$/;

/** @throws Refusal invalid if it is not one text */
const textOf = (name: FieldName, block: Block, parseYaml: ParseYaml): string => {
  const { value, more } = block;
  const plain = foldLines([value, ...more]).replace(/^!!str\s+/, '');
  const parsed = parseYaml(`${name}: ${[value, ...more.map((line) => ` ${line}`)].join('\n')}`);
  const found = 'value' in parsed ? (parsed.value as Record<string, unknown> | null)?.[name] : undefined;
  if (typeof found === 'object' && found !== null && /^(?:$|[[{])/.test(value))
    throw badManifest(`has a ${name} that is a list or an object: ${QUOTED}`, block);
  if (BLOCK_SCALAR.test(value)) {
    if (typeof found === 'string') return found.trim();
    throw badManifest(`has a ${name} after ${value} that is not indented alike: indent each of its lines by two blanks`, block);
  }
  if (!/^["']/.test(plain)) return withoutComment(name, plain);
  return typeof found === 'string' && !/["']\s+#\S[^"']*$/.test(plain) ? found.trim() : looselyQuoted(plain, block);
};

const fieldOf = (name: FieldName, blocks: readonly Block[], parseYaml: ParseYaml): Field => {
  const [block, second] = blocks.filter((found) => found.name === name);
  const similar = blocks.find((found) => found.name.toLowerCase() === name);
  if (!block)
    throw badManifest(
      similar
        ? `has the field ${similar.name}: write ${name} in lower case`
        : `has no field ${name} between the lines ---: add a line "${name}: …"`,
      similar,
    );
  if (second) throw badManifest(`has a second ${name}; the first is in line ${block.line}: keep one of them`, second);
  const text = textOf(name, withoutComma(block), parseYaml);
  if (text !== '' && (!/^(?:~|null)$/i.test(text) || /^["'|>]/.test(block.value))) return { text, line: block.line, column: block.column };
  throw badManifest(`has no text in the field ${name}: write it after the colon${text && `, in quotes if ${text} is meant`}`, block);
};

/** Front matter that is written as one object, `{name: …}`; null if it is not. */
const fieldsOfObject = (text: string, place: Place, parseYaml: ParseYaml): Record<FieldName, Field> | null => {
  if (!text.trimStart().startsWith('{')) return null;
  const parsed = parseYaml(text);
  const fields = 'value' in parsed ? (parsed.value as Record<string, unknown>) : {};
  const [name, description] = FIELDS.map((field) => fields[field]);
  if (typeof name !== 'string' || typeof description !== 'string')
    throw badManifest('must have an object with the texts name and description, or a line for each field', place);
  return { name: { ...place, text: name.trim() }, description: { ...place, text: description.trim() } };
};

/**
 * Reads name and description as people mean them: what follows the colon is the text, even if it is not valid YAML.
 * @throws Refusal invalid, with line, column and remedy, if a field is missing or is not one text
 */
export const readFrontMatter = (text: string, firstLine: number, parseYaml: ParseYaml): Record<FieldName, Field> => {
  const object = fieldsOfObject(text, { line: firstLine, column: 1 }, parseYaml);
  if (object) return object;
  const blocks = blocksOf(text.split('\n').map(withSpaces), firstLine);
  const [name, description] = FIELDS.map((field) => fieldOf(field, blocks, parseYaml));
  return { name: name!, description: description! };
};
