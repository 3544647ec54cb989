import { randomBytes, randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../../domain/runners/cloud-event.ts';
import { readLog, readMessageIds } from '../../faults/final-state.ts';
import { type Answer, createSockets, post } from '../../faults/load.ts';
import { startRunner } from '../../faults/runners.ts';
import { ADMIN_KEY } from '../../faults/running-platform.ts';
import { findText } from '../../faults/secret-search.ts';
import { createDataset } from '../../faults/tenants.ts';
import { eventually } from '../../fixtures/child-process.ts';
import type { SecretCase } from './secret-case.ts';

const mark = (): string => `mark${randomBytes(18).toString('hex')}`;

/** Sends a forged and a signed delivery. */
export const forgedDelivery: SecretCase = {
  name: 'a forged delivery is recorded with the reason of its rejection but without its body, and no file contains a secret or key in plain text',
  act: async (platform) => {
    const [forged, signed] = [mark(), mark()];
    const { tenants, agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    const [hook, agent] = [hooks[0]!, agents[0]!];
    const runner = await startRunner(platform, agent);
    const sockets = createSockets();
    const send = (text: string, signature?: string): Promise<Answer> =>
      post(platform.url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify({ text }), ...(signature && { signature }) });

    assert.is((await send(signed)).kind, 'accepted');
    assert.match((await send(forged, `sha256=${'0'.repeat(64)}`)).detail, /^401 /);
    sockets.destroy();
    const list = `/tenant/${agent.tenant.id}/webhook-integrations/${hook.id}/deliveries`;
    const rejected = async () =>
      JSON.parse((await platform.call('GET', `${list}?outcome=rejected`, undefined, agent.tenant)).text) as Record<string, unknown>[];
    await eventually('the read model shows the rejection', async () => (await rejected()).length === 1);
    await eventually('the runner has processed its event', () => runner.effects().length === 1);
    const [{ reason, sha256 } = {}] = await rejected();
    assert.equal({ reason, sha256 }, { reason: 'signature_mismatch', sha256: null });
    const log = platform.openLog();
    const { types, deliveries } = await readLog(log, platform.eventOpener(log)).finally(() => log.close());
    assert.is(types.get('WebhookRejected'), 1);
    assert.is(deliveries.filter(({ hookId }) => hookId === hook.id).length, 1);
    const nats = await platform.connectNats();
    const messages = await readMessageIds(nats, inboundSubject(agent.tenant.id, agent.id)).finally(() => nats.close());
    assert.is(messages.length, 1);

    return ({ own, printed }) => {
      assert.match(findText(hook.id, own).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
      const found = findText(signed, own);
      assert.match(found.join('\n'), /\/nats\/.*plain/, 'the search finds what is in the stream');
      assert.equal(
        found.filter((file) => !file.includes('/nats/')),
        [],
        'only the message to the runner has the body in plain text',
      );
      assert.match(findText('agent-0', own).join('\n'), /\/data\/(base|pg_wal)\/.*plain/, 'the search finds what is in Postgres');
      const secrets = { forged, secret: hook.secret, admin: ADMIN_KEY, owner: tenants[0]!.key, runner: agent.runnerKey };
      for (const [name, text] of Object.entries(secrets)) {
        assert.equal(findText(text, own), [], name);
        assert.not.ok(printed.includes(text) && name !== 'admin', `${name} was printed`);
      }
    };
  },
};
