/**
 * A string, or a number with exactly its digits. `unclear`: another type, or several members with its name and different values: some
 * programs read the first, others the last.
 */
export type FieldText = { readonly text: string } | 'unclear';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const MINUS = 0x2d;

/** The pointers as a tree of names. */
type Node = { pointer: string | null; readonly children: Map<string, Node> };
type Scan = { readonly json: Buffer; readonly found: Map<string, FieldText> };

const newNode = (): Node => ({ pointer: null, children: new Map() });

/** Unescapes a part of a JSON pointer. */
export const fieldName = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

const treeOf = (pointers: readonly string[]): Node => {
  const root = newNode();
  for (const pointer of pointers) {
    let node = root;
    for (const part of pointer.slice(1).split('/')) {
      const name = fieldName(part);
      const next = node.children.get(name) ?? newNode();
      node.children.set(name, next);
      node = next;
    }
    node.pointer = pointer;
  }
  return root;
};

// The following functions expect valid JSON. Each returns the offset after the part that it skips or reads.

const skipBlanks = (json: Buffer, from: number): number => {
  let at = from;
  while (json[at]! <= 0x20) at++;
  return at;
};

const skipString = (json: Buffer, from: number): number => {
  let at = from + 1;
  while (json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
};

const isEnd = (byte: number): boolean => byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= 0x20;

const skipScalar = (json: Buffer, from: number): number => {
  let at = from;
  while (at < json.length && !isEnd(json[at]!)) at++;
  return at;
};

const skipContainer = (json: Buffer, from: number): number => {
  let depth = 0;
  let at = from;
  do {
    const byte = json[at]!;
    if (byte === QUOTE) at = skipString(json, at) - 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
    at++;
  } while (depth > 0);
  return at;
};

const skipValue = (json: Buffer, at: number): number => {
  const byte = json[at];
  if (byte === QUOTE) return skipString(json, at);
  return byte === OPEN_ARRAY || byte === OPEN_OBJECT ? skipContainer(json, at) : skipScalar(json, at);
};

const stringAt = (json: Buffer, from: number, end: number): string => {
  const text = json.toString('utf8', from + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
};

const fieldAt = (json: Buffer, from: number, end: number): FieldText => {
  const byte = json[from]!;
  if (byte === QUOTE) return { text: stringAt(json, from, end) };
  return byte === MINUS || (byte >= 0x30 && byte <= 0x39) ? { text: json.toString('latin1', from, end) } : 'unclear';
};

const isSame = (one: FieldText, other: FieldText): boolean => one !== 'unclear' && other !== 'unclear' && one.text === other.text;

/** Below a name that occurs twice in an object, everything is unclear, unless it is the same text. */
const add = ({ found }: Scan, pointer: string, field: FieldText): void => {
  const known = found.get(pointer);
  found.set(pointer, known === undefined || isSame(known, field) ? field : 'unclear');
};

/** Marks the fields that are missing in one of two members with the same name. */
const markMissing = (scan: Scan, node: Node, before: ReadonlySet<string>): void => {
  if (node.pointer !== null && before.has(node.pointer) !== scan.found.has(node.pointer)) scan.found.set(node.pointer, 'unclear');
  for (const child of node.children.values()) markMissing(scan, child, before);
};

const readMember = (scan: Scan, at: number, node: Node, isRepeated: boolean): number => {
  if (!isRepeated) return readValue(scan, at, node);
  const inner: Scan = { json: scan.json, found: new Map() };
  const end = readValue(inner, at, node);
  const before = new Set(scan.found.keys());
  for (const [pointer, field] of inner.found) add(scan, pointer, field);
  markMissing({ json: scan.json, found: inner.found }, node, before);
  for (const [pointer, field] of inner.found) if (field === 'unclear') scan.found.set(pointer, field);
  return end;
};

const readObject = (scan: Scan, from: number, node: Node): number => {
  const { json } = scan;
  const seen = new Set<Node>();
  let at = skipBlanks(json, from + 1);
  while (json[at] !== CLOSE_OBJECT) {
    if (json[at] === COMMA) at = skipBlanks(json, at + 1);
    const end = skipString(json, at);
    const child = node.children.get(stringAt(json, at, end));
    at = skipBlanks(json, skipBlanks(json, end) + 1);
    at = skipBlanks(json, child ? readMember(scan, at, child, seen.has(child)) : skipValue(json, at));
    if (child) seen.add(child);
  }
  return at + 1;
};

const readArray = (scan: Scan, from: number, node: Node): number => {
  const { json } = scan;
  let at = skipBlanks(json, from + 1);
  for (let index = 0; json[at] !== CLOSE_ARRAY; index++) {
    if (json[at] === COMMA) at = skipBlanks(json, at + 1);
    const child = node.children.get(String(index));
    at = skipBlanks(json, child ? readValue(scan, at, child) : skipValue(json, at));
  }
  return at + 1;
};

const readInside = (scan: Scan, at: number, node: Node): number => {
  if (node.children.size === 0) return skipValue(scan.json, at);
  if (scan.json[at] === OPEN_OBJECT) return readObject(scan, at, node);
  return scan.json[at] === OPEN_ARRAY ? readArray(scan, at, node) : skipValue(scan.json, at);
};

const readValue = (scan: Scan, at: number, node: Node): number => {
  const end = readInside(scan, at, node);
  if (node.pointer !== null) add(scan, node.pointer, fieldAt(scan.json, at, end));
  return end;
};

/** The fields that exist, by JSON pointer (RFC 6901); for valid JSON only. */
export const jsonFields = (json: Uint8Array, pointers: readonly string[]): ReadonlyMap<string, FieldText> => {
  const scan: Scan = { json: Buffer.from(json.buffer, json.byteOffset, json.length), found: new Map() };
  readValue(scan, skipBlanks(scan.json, 0), treeOf(pointers));
  return scan.found;
};
