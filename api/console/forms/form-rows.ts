import type { Submitted } from './form-body.ts';

type Json = Record<string, unknown>;

const unescaped = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~');

/** Returns a value in which `change` was applied to the list at a JSON pointer. */
const withList = (value: unknown, path: readonly string[], change: (list: readonly unknown[]) => readonly unknown[]): unknown => {
  const [name, ...rest] = path;
  if (name === undefined) return change(Array.isArray(value) ? value : []);
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === name ? withList(one, rest, change) : one));
  return { ...(value as Json | undefined), [name]: withList((value as Json | undefined)?.[name], rest, change) };
};

const pathOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .filter((name) => name !== '')
    .map(unescaped);

/** Moves a row of a list, as `_move` says: the pointer of the list, the row's index, and its new index. */
const withRowMoved = (move: string, body: unknown): unknown => {
  const path = pathOf(move);
  const [from, to] = path.slice(-2).map(Number);
  if (path.length < 2 || !Number.isInteger(from) || !Number.isInteger(to)) return body;
  return withList(body, path.slice(0, -2), (list) => {
    if (from! < 0 || from! >= list.length) return list;
    return list.toSpliced(from!, 1).toSpliced(to!, 0, list[from!]);
  });
};

/**
 * Applies the pressed button of a list in a form: adds a row, removes a row, or moves it up. A row that was dragged is
 * moved. Returns the changed body; null if the form was not sent for this.
 */
export const withRowsEdited = (submitted: Submitted, body: unknown): unknown => {
  const move = submitted.get('_move');
  if (move) return withRowMoved(move, body);
  const [added, removed, raised] = ['_add', '_remove', '_up'].map((name) => submitted.get(name));
  if (added) return withList(body, pathOf(added), (list) => [...list, {}]);
  const path = pathOf(removed ?? raised ?? '');
  const index = Number(path.at(-1));
  if (path.length === 0 || !Number.isInteger(index)) return null;
  return withList(body, path.slice(0, -1), (list) => {
    if (removed) return list.filter((_, at) => at !== index);
    return index < 1 || index >= list.length ? list : [...list.slice(0, index - 1), list[index], list[index - 1], ...list.slice(index + 1)];
  });
};
