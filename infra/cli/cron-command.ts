import { defineCommand } from 'citty';
import { finish } from '../processes/exit.ts';
import { JSON_OPTION, rejectUnknownArguments } from './arguments.ts';
import { readConfig } from './command-runs.ts';

const preview = defineCommand({
  meta: { name: 'preview', description: 'Print when a cron job, or a draft of one, fires next, and what is suppressed and why' },
  args: {
    agent: { type: 'positional', description: 'Slug or id of the agent that has the job', required: false },
    job: { type: 'positional', description: 'Id of the job; without it, the options describe a draft', required: false },
    cron: { type: 'string', description: 'Draft: a cron expression of five fields, such as "0 9 * * 1-5"' },
    every: { type: 'string', description: 'Draft: an interval in minutes' },
    daily: { type: 'string', description: 'Draft: a time of day, such as 09:00' },
    at: { type: 'string', description: 'Draft: a single time, such as 2026-11-21T10:00:00Z' },
    zone: { type: 'string', description: 'Draft: the time zone (default: UTC), such as Europe/Berlin' },
    count: { type: 'string', description: 'Print at most this many times, up to 20', default: '20' },
    json: JSON_OPTION,
  },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { draftOf, previewCronJob } = await import('./preview-cron-job.ts');
    const { agent, job, cron, every, daily, at, zone, count } = args;
    const target = draftOf({ agent, job, cron, every, daily, at, zone, count });
    const { annalsUrl, annalsKey } = await readConfig('annalsUrl', 'annalsKey');
    await finish(await previewCronJob(target, { url: annalsUrl!, key: annalsKey!, json: args.json === true }));
  },
});

export const cronCommand = defineCommand({
  meta: { name: 'cron', description: 'Show when cron jobs fire' },
  subCommands: { preview },
});
