import { cleanDisplayText } from '../fields.ts';
import { invalid } from '../refusal.ts';
import { decodeText } from '../text-decoder.ts';

export const MAX_DATASET_BYTES = 8 * 1024 * 1024;
export const MAX_DATASET_TASKS = 10_000;
/** One event contains the ids of all tasks of a run. */
export const MAX_RUN_TASKS = 1_000;
export const MAX_TASK_ID_LENGTH = 128;

/** `line`: the line of the dataset that describes the task, a JSON object. */
export type Task = { readonly id: string; readonly line: string };

const objectIn = (line: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/** The field `id` or, without one, the number of the line. Null if `id` is not valid. */
const idOf = ({ id }: Readonly<Record<string, unknown>>, lineNumber: number): string | null => {
  if (id === undefined) return String(lineNumber);
  const text = typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : id;
  return typeof text === 'string' && cleanDisplayText(text, MAX_TASK_ID_LENGTH) === text ? text : null;
};

/**
 * JSON Lines, one task per line; skips blank lines. `pointer` names the dataset in the request. @throws Refusal invalid with the line's
 * number
 */
export const parseDataset = (bytes: Uint8Array, pointer: string): Task[] => {
  const refuse = (message: string) => invalid(pointer, message, 'malformed_dataset');
  const tasks = new Map<string, Task>();
  const text = decodeText(bytes, (fault) => refuse(`The dataset ${fault}`));
  if (text.trimStart().startsWith('[')) throw refuse('The dataset is a JSON array: write each task on its own line (JSON Lines)');
  for (const [index, raw] of text.split(/\r\n?|\n/).entries()) {
    const line = raw.trim();
    if (line === '') continue;
    const task = objectIn(line);
    if (!task) throw refuse(`Line ${index + 1} of the dataset is not a JSON object`);
    const id = idOf(task, index + 1);
    if (id === null) throw refuse(`Line ${index + 1} of the dataset has an id that is not a text of 1 to ${MAX_TASK_ID_LENGTH} characters`);
    if (tasks.has(id)) throw refuse(`Line ${index + 1} of the dataset repeats the id ${id}`);
    tasks.set(id, { id, line });
    if (tasks.size > MAX_DATASET_TASKS) throw refuse(`The dataset has more than ${MAX_DATASET_TASKS} tasks`);
  }
  if (tasks.size === 0) throw refuse('The dataset has no tasks');
  return [...tasks.values()];
};

/** Null: all tasks. In the order of the dataset. @throws Refusal invalid if an id is unknown or given twice, or there are too many tasks */
export const selectTasks = (tasks: readonly Task[], ids: readonly string[] | null): readonly Task[] => {
  const known = new Set(tasks.map(({ id }) => id));
  const unknown = ids?.findIndex((id) => !known.has(id)) ?? -1;
  if (unknown >= 0) throw invalid(`/tasks/${unknown}`, 'the dataset has no task with this id', 'unknown_task');
  const repeated = ids?.findIndex((id, index) => ids.indexOf(id) < index) ?? -1;
  if (repeated >= 0) throw invalid(`/tasks/${repeated}`, 'is named twice', 'duplicate');
  const wanted = ids && new Set(ids);
  const selected = wanted ? tasks.filter(({ id }) => wanted.has(id)) : tasks;
  if (selected.length <= MAX_RUN_TASKS) return selected;
  throw invalid(
    '/tasks',
    `A run has at most ${MAX_RUN_TASKS} tasks, and the dataset has ${tasks.length}: name those to run`,
    'too_many_tasks',
  );
};
