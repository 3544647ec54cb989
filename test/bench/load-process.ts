import { load } from './load.ts';
import { handBack, type LoadJob } from './measure.ts';
import { shooter } from './request-names.ts';

process.once('message', async ({ volley, ...wanted }: LoadJob) => handBack(await load({ ...wanted, request: shooter(volley) })));
