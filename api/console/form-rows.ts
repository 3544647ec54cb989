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

/**
 * Applies the pressed button of a list in a form: adds a row, removes a row, or moves it up. Returns the changed body;
 * null if the pressed button belongs to no list.
 */
export const withRowsEdited = (submitted: Submitted, body: unknown): unknown => {
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
