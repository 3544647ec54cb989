/** `isNested`: its values are objects or lists. */
export type Column = { readonly name: string; readonly cells: readonly string[]; readonly isNested: boolean };

const STATES = ['status', 'state', 'outcome', 'decision', 'result'];
/** Fields with a time, most important first. The first one that the rows have becomes one of the first columns. */
const TIMES = [
  'at',
  'received_at',
  'due_at',
  'last_at',
  'requested_at',
  'parked_at',
  'last_seen_at',
  'hour',
  'given_at',
  'created_at',
  'resets_at',
];
const NAMES = [
  ...['name', 'display_name', 'title', 'label', 'projection', 'event', 'action', 'type', 'provider', 'address', 'email', 'from'],
  ...['user_name', 'user_email', 'subject', 'filename', 'job_name', 'agent_name', 'slug', 'reason', 'kind', 'role', 'summary'],
];
/** Fields with ids, digests and log positions, which become the last columns. */
const ID = /(?:^|_)ids?$|^(?:sha256|digest|fingerprint|position|revision|root|signature|public_key|stream|dataset_sha256|package_digest)$/;
const TIME = /(?:^|_)at$|_(?:since|until)$/;
/** The maximum number of ids that identify an item without an id of its own, such as those of an agent and a tool. */
const MAX_KEY_IDS = 2;
/** The number of columns that come before the id when columns are chosen. */
const BEFORE_ID = 3;

const rankOf = ({ name, isNested }: Column, time: string | undefined): number => {
  if (STATES.includes(name)) return STATES.indexOf(name) / STATES.length;
  if (name === time) return 1;
  if (NAMES.includes(name)) return 2 + NAMES.indexOf(name) / NAMES.length;
  if (name === 'id') return 6;
  if (ID.test(name)) return 7;
  if (isNested) return 5;
  return TIME.test(name) ? 4 : 3;
};

/** Puts columns into the order in which people read them: state, time, names, other fields, objects, ids. */
export const inReadingOrder = (columns: readonly Column[]): readonly Column[] => {
  const time = TIMES.find((name) => columns.some((column) => column.name === name));
  return columns.toSorted((a, b) => rankOf(a, time) - rankOf(b, time));
};

const isEmpty = ({ cells }: Column): boolean => cells.every((cell) => cell === '');

/** The id is chosen before less important fields, because other commands need it. Columns without any value are left out. */
export const fittingColumns = (columns: readonly Column[], width: number, gap: number): readonly Column[] => {
  const ordered = inReadingOrder(columns);
  const filled = ordered.filter((column) => !isEmpty(column));
  const shown = filled.length > 0 ? filled : ordered;
  const ids = shown.some(({ name }) => name === 'id') ? ['id'] : shown.map(({ name }) => name).filter((name) => name.endsWith('_id'));
  const id = shown.filter(({ name }) => ids.slice(0, MAX_KEY_IDS).includes(name));
  const others = shown.filter((column) => !id.includes(column));
  let left = width + gap;
  const fitting = [...others.slice(0, BEFORE_ID), ...id, ...others.slice(BEFORE_ID)].filter(({ name, cells }, index) => {
    const used = Math.max(name.length, ...cells.map((cell) => cell.length)) + gap;
    if (index > 0 && used > left) return false;
    left -= used;
    return true;
  });
  return shown.filter((column) => fitting.includes(column));
};
