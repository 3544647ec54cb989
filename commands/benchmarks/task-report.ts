import { z } from 'zod';
import { MAX_TASK_ID_LENGTH } from '../../domain/benchmarks/dataset.ts';
import { displayText } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { Refusal } from '../../domain/refusal.ts';
import { MAX_REPORT_BYTES } from '../../domain/runners/score-report.ts';

const MAX_SECONDS = 10_000_000;

/** The report that a runner publishes about one task of a run. */
export const TaskReport = z
  .strictObject({
    run_id: idOf('benchmark run'),
    task_id: displayText(1, MAX_TASK_ID_LENGTH).meta({ description: 'The id of the task', examples: ['task-1'] }),
    score: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .meta({ description: 'From 0 to 1', examples: [1] }),
    error: displayText(1, 1_024)
      .nullish()
      .meta({ description: 'Why there is no score, instead of one', examples: [null] }),
    seconds: z
      .number()
      .min(0)
      .max(MAX_SECONDS)
      .nullish()
      .meta({ description: 'How long the agent took', examples: [42.5] }),
    trajectory: z
      .unknown()
      .optional()
      .meta({ description: 'What the agent did, as any JSON; null: not reported', examples: [[{ role: 'assistant', content: '2' }]] }),
  })
  .refine(({ score, error }) => (score == null) !== (error == null), { path: ['score'], message: 'give either a score or an error' })
  .meta({ id: 'BenchmarkTaskReport' });

export type TaskReport = z.output<typeof TaskReport>;

/** @throws Refusal invalid, too_large */
export const encodeReport = (report: unknown): Uint8Array => {
  const { data, error } = TaskReport.safeParse(report);
  if (!data) {
    const errors = error.issues.map(({ path, code, message }) => ({ pointer: `/${path.join('/')}`, code, message }));
    throw new Refusal('invalid', `The result of a task is not valid: ${errors.map((one) => `${one.pointer} ${one.message}`).join('; ')}`, {
      errors,
    });
  }
  const bytes = new TextEncoder().encode(JSON.stringify(data));
  if (bytes.length > MAX_REPORT_BYTES)
    throw new Refusal(
      'too_large',
      `The result of a task has ${bytes.length} bytes: leave out parts of the trajectory until it has ${MAX_REPORT_BYTES}`,
    );
  return bytes;
};

/** Null if the result is not valid. */
export const decodeReport = (bytes: Uint8Array): TaskReport | null => {
  try {
    return TaskReport.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))).data ?? null;
  } catch {
    return null;
  }
};
