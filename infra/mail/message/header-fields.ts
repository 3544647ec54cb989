/** `value` is unfolded, and has a character U+0000 to U+00FF for each byte. */
export type HeaderField = { readonly name: string; readonly value: string };

const FIELD = /^([\x21-\x39\x3b-\x7e]+)[ \t]*:/;

/** Returns the fields in the bytes of a header, with their names in lower case. Lines that are not fields are left out. */
export const fieldsIn = (header: Buffer): HeaderField[] => {
  const lines = header.toString('latin1').split(/\r?\n/);
  const fields: { name: string; lines: string[] }[] = [];
  let last: string[] | undefined;
  for (const line of lines) {
    if (/^[ \t]/.test(line)) {
      last?.push(line);
      continue;
    }
    const found = FIELD.exec(line);
    last = found ? [line.slice(found[0].length)] : undefined;
    if (found) fields.push({ name: found[1]!.toLowerCase(), lines: last! });
  }
  return fields.map(({ name, lines: folded }) => ({ name, value: folded.join('').replaceAll('\r', ' ').trim() }));
};

export const fieldOf = (fields: readonly HeaderField[], name: string): string | undefined =>
  fields.find((field) => field.name === name)?.value;

export const fieldsOf = (fields: readonly HeaderField[], name: string): readonly string[] =>
  fields.filter((field) => field.name === name).map(({ value }) => value);
