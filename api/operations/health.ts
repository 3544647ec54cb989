import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { operation } from '../http/operation.ts';

const HealthPart = z.object({
  name: z.string().meta({ description: 'The name of the part', examples: ['event store'] }),
  status: z
    .enum(['ok', 'degraded', 'down'])
    .meta({ description: '`degraded`: it works, but something should be changed. `down`: it does not work', examples: ['ok'] }),
  detail: z.string().meta({ description: 'What the check found', examples: ['answers in 1 ms, contains a platform'] }),
  advice: z
    .string()
    .nullable()
    .meta({ description: 'What to do; null if there is nothing to do', examples: [null] }),
  figures: z
    .record(z.string(), z.number())
    .meta({ description: 'Measured values. The name of each ends with its unit', examples: [{ answer_milliseconds: 1 }] }),
});

const HealthProcess = z.object({
  name: z.string().meta({ description: 'The host and the process id', examples: ['host-1 4711'] }),
  kind: z.enum(['serve', 'work']).meta({ description: 'The command that the process runs', examples: ['serve'] }),
  version: z.string().meta({ description: 'The version of Annals', examples: ['0.1.0'] }),
  build: z
    .string()
    .nullable()
    .meta({ description: 'Equal in processes that run the same code; null if the program is not bundled', examples: ['3f9c21ab'] }),
  node: z.string().meta({ description: 'The version of Node', examples: ['26.10.0'] }),
  started_at: Timestamp.meta({ description: 'When the process was started' }),
  last_seen_at: Timestamp.meta({ description: 'When the process has reported last' }),
  state: z
    .enum(['running', 'silent'])
    .meta({ description: '`silent`: it has not reported for 15 seconds. After an hour, it is not listed any more', examples: ['running'] }),
});

export const HealthReport = z
  .object({
    at: Timestamp.meta({ description: 'When the report was made. A part may have been checked up to six seconds earlier' }),
    parts: z.array(HealthPart).meta({ description: 'The parts of the platform that exist, without the services that are not configured' }),
    processes: z.array(HealthProcess).meta({
      description:
        'The processes of all hosts: first the one that answers, then at most 100 others, `serve` before `work`, each newest first. A process that was stopped properly is not listed any more',
    }),
  })
  .meta({ id: 'HealthReport' });

/** Checks all parts of the platform. It never throws: a part that cannot be checked is reported as down. */
export type ReadHealth = () => Promise<z.output<typeof HealthReport>>;

export const healthOperations = (read: ReadHealth) => ({
  readHealth: operation({
    method: 'get',
    path: '/admin/health',
    permit: 'platform',
    noETag: true,
    summary: 'Read the health of the platform',
    details: 'Reports each part of the platform, and what to do about a part that does not work.',
    reply: HealthReport,
    run: async () => ({ doc: JSON.stringify(await read()), revision: null }),
  }),
});
