import { load } from './load.ts';
import { type LoadJob, sendResult } from './measure.ts';
import { createRequestFactory } from './request-names.ts';

process.once('message', async ({ requests, ...options }: LoadJob) =>
  sendResult(await load({ ...options, request: createRequestFactory(requests) })),
);
