import { join } from 'node:path';
import { defineCommand } from 'citty';
import type { RunnerOptions } from '../runner/runner.ts';
import { isWebUrl, rejectUnknownArguments, runnerLimits, usageError } from './arguments.ts';
import { readClientConfig } from './read-client-config.ts';

type Targets = { readonly exec?: string | undefined; readonly forward?: string | undefined };

/** Exactly one target is needed. @throws a usage error */
const targetOf = ({ exec, forward }: Targets): Targets => {
  if (exec === undefined && forward === undefined) throw usageError('Give the runner a command (--exec) or a URL (--forward)');
  if (exec !== undefined && forward !== undefined) throw usageError('--exec cannot be combined with --forward');
  if (forward !== undefined && !isWebUrl(forward)) throw usageError('--forward must be a URL that begins with http:// or https://');
  return { exec, forward };
};

/** `run` runs the runner until it ends, and exits with its code. */
export const runnerCommand = (run: (options: Omit<RunnerOptions, 'signal'>) => Promise<never>) =>
  defineCommand({
    meta: { name: 'runner', description: 'Run a command for each delivery to an agent, or post it to a URL, at least once' },
    args: {
      agent: { type: 'string', description: 'Slug of the agent', required: true },
      exec: {
        type: 'string',
        description:
          'Shell command; it reads the CloudEvent from standard input. Exit code 0 acknowledges the delivery; 75 says that the budget was used up. Its environment has ' +
          'ANNALS_EVENT_ID (the same in every attempt), ANNALS_DELIVERY_ID, ANNALS_SUBJECT, ANNALS_AGENT, ANNALS_ATTEMPT ' +
          'and ANNALS_RUNTIME (a file with all that the agent needs, such as its models, skills and secrets); for a benchmark run also ' +
          'ANNALS_SCORES (a file for the results, one JSON object in each line), and TRACEPARENT if the delivery came with a trace context',
      },
      forward: {
        type: 'string',
        description:
          'URL to which each CloudEvent is posted (application/cloudevents+json). A status of 2xx acknowledges the delivery; after any ' +
          'other it is posted again, when Retry-After says so',
      },
      concurrency: { type: 'string', description: 'How many deliveries may be processed at the same time', default: '1' },
      timeout: {
        type: 'string',
        description: 'End a run that takes more seconds than this; it counts as failed (default: no limit; with --forward 60)',
      },
      once: { type: 'boolean', description: 'End after one run, like --max 1' },
      max: { type: 'string', description: 'End after this many runs, with exit code 1 if one of them has failed' },
    },
    setup: rejectUnknownArguments,
    run: async ({ args }) => {
      const limits = runnerLimits(args);
      const target = targetOf(args);
      const { annalsUrl: url, annalsKey: key, annalsData } = await readClientConfig();
      await run({ url, key, agent: args.agent, ...target, dir: join(annalsData, 'runner'), ...limits });
    },
  });
