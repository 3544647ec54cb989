import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { checkNats } from '../../infra/health/nats-check.ts';
import { ensureInbound, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { withNatsServer } from '../fixtures/nats-server.ts';
import { SMALL_PAYLOAD, withOpenServer, withSmallPayload } from '../fixtures/open-nats-server.ts';

const ADVICE = 'start it';
const FOREIGN_SEED = 'SAAATBLGJYRG7DKJCNURJ6ODXD2NZK276KINOV2FHXRKFFQMOQL3OVA4TA';

test('annals doctor distinguishes a NATS server without JetStream from one that is down, and says how to enable JetStream', async () => {
  await withOpenServer([], async (natsUrl) => {
    const { level, message, advice } = await checkNats({ natsUrl }, ADVICE);
    equal([level, message], ['fail', 'JetStream is off']);
    match(advice!, 'nats-server -js');
  });
  const down = await checkNats({ natsUrl: 'nats://127.0.0.1:1' }, ADVICE);
  equal([down.level, down.advice], ['fail', ADVICE]);
});

test('annals doctor warns if a NATS server accepts clients without credentials, or if NATS_ACCOUNT_SEED is not set', () =>
  withOpenServer(['-js'], async (natsUrl) => {
    const open = await checkNats({ natsUrl, natsAccountSeed: FOREIGN_SEED }, ADVICE);
    is(open.level, 'warn');
    match(open.message, 'every client can connect');
    const withoutSeed = await checkNats({ natsUrl }, ADVICE);
    equal([withoutSeed.level, withoutSeed.advice], ['warn', 'set NATS_ACCOUNT_SEED']);
  }));

test('annals doctor says that max_payload is too small for messages to runners, and which value to set', () =>
  withSmallPayload(async (natsUrl) => {
    const { level, message, advice } = await checkNats({ natsUrl }, ADVICE);
    is(level, 'fail');
    match(message, `max_payload is ${SMALL_PAYLOAD}`);
    match(advice!, 'at least 98304');
  }));

test(
  'annals doctor warns if runners share the NATS account of the platform',
  withNatsServer(async ({ address: { natsRunnerAccountSeed: _, ...shared } }) => {
    for (const address of [shared, { ...shared, natsRunnerAccountSeed: shared.natsAccountSeed }]) {
      const { level, message, advice } = await checkNats(address, ADVICE);
      is(level, 'warn');
      match(message, 'set NATS_RUNNER_ACCOUNT_SEED');
      match(advice!, 'docs/clusters.md');
    }
  }),
);

test(
  'annals doctor accepts a NATS server with accounts, and reports a NATS_ACCOUNT_SEED whose account the server does not know',
  withNatsServer(async ({ address }) => {
    is((await checkNats(address, ADVICE)).level, 'ok');
    const foreign = await checkNats({ ...address, natsAccountSeed: FOREIGN_SEED }, ADVICE);
    is(foreign.level, 'fail');
    match(foreign.advice!, 'NATS_ACCOUNT_SEED');
  }),
);

test(
  'annals doctor warns about a NATS stream with the configuration of Annals but without the description by which Annals recognizes its streams',
  withNatsServer(async ({ address, connect }) => {
    const nats = await connect();
    const { config } = await ensureInbound(nats);
    is((await checkNats(address, ADVICE)).level, 'ok');
    const { streams } = await manager(nats);
    await streams.delete(STREAM);
    const unmarked = omit(config, 'description');
    await streams.add(unmarked);
    const { level, message } = await checkNats(address, ADVICE);
    is(level, 'warn');
    match(message, 'AGENTS may belong to another application');
  }),
);

test.run();
