import { pino } from 'pino';
import { connectNats } from '../infra/nats/connect.ts';
import { startRelay } from '../infra/nats/relay.ts';
import { acceptedLog } from './generated-log.ts';

/** A relay as a process that a test may kill: `node relay-process.ts <events> <their time>`. */
const [count = '0', at = ''] = process.argv.slice(2);
const nats = await connectNats({ natsUrl: process.env.NATS_URL, natsAccountSeed: process.env.NATS_ACCOUNT_SEED });
await startRelay({ log: await acceptedLog(Number(count), at), nats, logger: pino({ level: 'silent' }), publicUrl: 'http://127.0.0.1' });
process.stdout.write('relaying\n');
