import { randomBytes, randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../../faults/load.ts';
import type { Platform } from '../../faults/platform.ts';
import { findText, findTexts } from '../../faults/secret-search.ts';
import { createDataset, type Hook } from '../../faults/tenants.ts';
import { eventually } from '../../fixtures/child-process.ts';
import type { SecretCase } from './secret-case.ts';

const FILLER = 'x'.repeat(950_000);

/** Returns a unique text for a body. Only callers who may read the delivery should see it. */
const canary = (): string => `canary${randomBytes(18).toString('hex')}`;

/** Maps each kind of body to a function that returns a body of this kind with the given text in it. */
const kinds: Readonly<Record<string, (text: string) => string>> = {
  small: (text) => JSON.stringify({ text }),
  large: (text) => JSON.stringify({ filler: FILLER, text }),
  blocked: (text) => `{"broken": "${text}`,
};

const bodies = Object.entries(kinds).flatMap(([kind, bodyOf]) =>
  Array.from({ length: 4 }, () => {
    const text = canary();
    return { kind, text, body: bodyOf(text), deliveryId: randomUUID() };
  }),
);

const deliverAll = async (platform: Platform, hook: Hook): Promise<string[]> => {
  const sockets = createSockets();
  const ids: string[] = [];
  for (const { body, deliveryId } of bodies) {
    const answer = await post(platform.url, sockets, { hook, deliveryId, body });
    assert.is(answer.kind, 'accepted', answer.detail);
    ids.push(answer.id!);
    assert.is((await post(platform.url, sockets, { hook, deliveryId, body: `${body} ` })).kind, 'duplicate');
  }
  sockets.destroy();
  return ids;
};

/** Sends accepted, large and blocked deliveries. Their messages to the runner are the only place of their bodies. */
export const deliveryBodies: SecretCase = {
  name: 'no file of the event store, database or logs, no backup and no output of a platform contains the body of a delivery',
  act: async (platform) => {
    const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    const { tenant } = agents[0]!;
    const ids = await deliverAll(platform, hooks[0]!);
    const read = (path: string) => platform.call('GET', `/tenant/${tenant.id}/deliveries/${path}`, undefined, tenant);
    await eventually('the read model shows every delivery', async () => (await read(ids.at(-1)!)).status === 200);
    for (const [index, { kind, text, body }] of bodies.entries()) {
      const detail = await read(ids[index]!);
      assert.equal([detail.status, detail.text.includes(text)], [200, kind !== 'large']);
      assert.is((await read(`${ids[index]}/body`)).text, body);
    }
    return ({ own, backup, printed }) => {
      assert.match(findText(ids[0]!, own).join('\n'), /\/data\/store\/.*plain/, 'the search finds what is in the log');
      assert.match(findText(ids[0]!, [backup]).join('\n'), /plain/, 'the search finds what is in the backup');
      assert.match(printed, new RegExp(ids[0]!), 'the printed events are those of the log');
      const texts = bodies.map(({ text }) => text);
      const found = findTexts(texts, [...own, backup]);
      for (const { kind, text } of bodies) {
        const files = found.get(text)!.filter((file) => !file.includes('/nats/'));
        assert.equal(files, [], `the body of a ${kind} delivery`);
        assert.not.ok(printed.includes(text));
      }
    };
  },
};
