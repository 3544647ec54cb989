import { TaskReport } from '../../commands/benchmarks/task-report.ts';
import { HARNESSES, TRAJECTORY_BUILDERS } from '../../domain/benchmarks/benchmark.ts';
import { MAX_REPORT_BYTES, scoreSubject } from '../../domain/runners/score-report.ts';
import { requestSchemaOf } from '../http/json-schema.ts';

const text = (description: string) => ({ type: 'string', description });

/** The JSON Schema for the body of the message that gives a benchmark run to a runner. */
export const benchmarkRunSchema = {
  type: 'object',
  description: 'The run. The runner lets the agent do every task, and publishes a result for each',
  required: ['run_id', 'benchmark', 'harness', 'evaluator_strategy', 'evaluator_config', 'trajectory_builder', 'expires_at', 'tasks'],
  properties: {
    run_id: text('The run; the same as deliveryid'),
    benchmark: text('The slug of the benchmark'),
    harness: { enum: HARNESSES, description: 'The program that runs the agent' },
    evaluator_strategy: text('How an answer is scored; a name that the runner knows'),
    evaluator_config: { type: 'object', description: 'Settings of the evaluator' },
    trajectory_builder: { enum: TRAJECTORY_BUILDERS, description: 'How requests to the language model are joined into a trajectory' },
    expires_at: { type: 'string', format: 'date-time', description: 'Results after this time are not recorded' },
    tasks: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'task'],
        properties: { id: text('The id of the task'), task: { type: 'object', description: 'The line of the dataset, unchanged' } },
      },
    },
  },
};

export const benchmarkRunExample = (run_id: string) => ({
  ...{ run_id, benchmark: 'sums', harness: 'shell', evaluator_strategy: 'exact_match', evaluator_config: {} },
  ...{ trajectory_builder: 'prefix_merging', expires_at: '2026-01-02T12:00:00.000Z' },
  tasks: [{ id: 'task-1', task: { id: 'task-1', prompt: '1 + 1', expected: '2' } }],
});

const exampleId = `c${'delivery'.padEnd(24, '0')}`;

/** The part of the AsyncAPI document about the messages in which runners publish the results of benchmark tasks. */
export const benchmarkResult = {
  channel: {
    address: scoreSubject('{tenant}', '{agent}'),
    summary: 'The results of benchmark tasks, which runners publish',
    parameters: { tenant: { description: "The tenant's id" }, agent: { description: "The agent's id" } },
    messages: { annalsBenchmarkResult: { $ref: '#/components/messages/annalsBenchmarkResult' } },
  },
  operation: {
    action: 'send',
    channel: { $ref: '#/channels/scores' },
    summary: 'Publish the result of a benchmark task before the run is acknowledged',
    messages: [{ $ref: '#/channels/scores/messages/annalsBenchmarkResult' }],
  },
  message: {
    name: 'annals.benchmark.result',
    title: 'annals.benchmark.result',
    summary: 'The result of a task: either a score or an error',
    contentType: 'application/json',
    payload: requestSchemaOf(TaskReport),
    examples: [
      { payload: { run_id: exampleId, task_id: 'task-1', score: 1, seconds: 42.5, trajectory: [{ role: 'assistant', content: '2' }] } },
    ],
  },
  /** A paragraph for the introduction of the AsyncAPI document. */
  text:
    `**Benchmarks.** A message \`annals.benchmark.queued\` has the tasks of a run. Publish a result for each task to \`${scoreSubject('{tenant}', '{agent}')}\` as a ` +
    `JetStream message, that is, as a request that the broker answers when it has stored the message; without an answer, publish it again. Acknowledge the ` +
    'message of the run after its last result. A result has a score from 0 to 1 or an error; the first result of a task counts, so a runner that ' +
    `gets the run again may report everything again. A message has at most ${MAX_REPORT_BYTES} bytes: a longer trajectory belongs into the session of the task. A run ` +
    'that is acknowledged without a result for every task has failed. A command of `annals runner` writes its results, one JSON object a line, to the ' +
    'file that ANNALS_SCORES names; a server to which the run is posted answers with them as `application/jsonl`; the TypeScript client has `reportResult`.',
};
