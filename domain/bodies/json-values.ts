/** Member names and item indexes, from the outermost to the innermost. */
export type ValuePath = readonly (string | number)[];

type Reviver = (this: unknown, name: string, value: unknown, context: { readonly source?: string }) => unknown;
/** Has the functions of the proposal "JSON.parse source text access", which TypeScript does not declare yet. */
type SourceJson = {
  readonly parse: (text: string, reviver: Reviver) => unknown;
  readonly rawJSON: (source: string) => object;
  readonly isRawJSON: (value: unknown) => boolean;
};
const sourceJson = JSON as unknown as SourceJson;

/** `map` gets each number, and its text, and returns the value that replaces it. */
export const parseWithNumbers = (json: string, map: (number: number, source: string) => unknown): unknown =>
  sourceJson.parse(json, (_, value, { source }) => (typeof value === 'number' ? map(value, source!) : value));

/** JSON.stringify then writes each number with the digits that it has in the text. */
const parseExactly = (json: string): unknown => parseWithNumbers(json, (_, source) => sourceJson.rawJSON(source));

/** JSON that may have a number which JSON.stringify would write with other digits. */
const UNUSUAL_NUMBER = /(?:"\s*:|[[,])\s*(?:-?\d{16}|-?\d+[.eE]|-0)|^\s*-?\d/;

const keepDigits = (number: number, source: string): unknown => (String(number) === source ? number : sourceJson.rawJSON(source));

/** A number that JavaScript would write with other digits is a raw number, which JSON.stringify writes as in the text. All else as JSON.parse. */
export const parseForDisplay = (json: string): unknown =>
  UNUSUAL_NUMBER.test(json) ? parseWithNumbers(json, keepDigits) : (JSON.parse(json) as unknown);

/** A raw number of `parseForDisplay`. */
export const isRawNumber = (value: unknown): boolean => sourceJson.isRawJSON(value);

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Defines the member: an assignment to a member `__proto__` would change the prototype instead. */
const setMember = (container: object, name: string | number, value: string): void =>
  void Object.defineProperty(container, name, { value, enumerable: true, configurable: true, writable: true });

const replaceValue = (root: object, path: ValuePath, text: string): void => {
  let container: unknown = root;
  for (const part of path.slice(0, -1)) {
    if (!isContainer(container) || !Object.hasOwn(container, part)) return;
    container = (container as Readonly<Record<string | number, unknown>>)[part];
  }
  const last = path.at(-1)!;
  if (isContainer(container) && Object.hasOwn(container, last)) setMember(container, last, text);
};

/** Ignores a path into a value that is replaced. */
export const replaceValues = (json: string, paths: readonly ValuePath[], text: string): string => {
  if (paths.some((path) => path.length === 0)) return JSON.stringify(text);
  const root = parseExactly(json);
  if (isContainer(root)) for (const path of paths) replaceValue(root, path, text);
  return JSON.stringify(root);
};
