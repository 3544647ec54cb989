// limit: 120 s for this file (test/run.ts)
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner, type Handler } from '../../infra/runner/runner-client.ts';
import { expectReply } from '../faults/running-platform.ts';
import { type Agent, createAgent, createTenant } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { type LentPlatform, lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();
const LAST = 'And the last one';

const receive = ({ url, dir, stopOnClose }: LentPlatform, { runnerKey: key, id }: Agent, handle: Handler): void => {
  const control = new AbortController();
  const connected = connectRunner({ url, key, dir: join(dir, `earlier-${id}`), signal: control.signal, report: console.log });
  const ended = connected.then((runner) => runner.receive(handle));
  stopOnClose({
    stop: async () => {
      control.abort();
      await ended;
    },
  });
};

type Shown = { readonly messages: readonly { readonly runner_status: string | null }[] };

test('a handler that listens gets the messages that were written before the runner started, each once', () =>
  onPlatform(async (platform) => {
    const agent = await createAgent(platform, await createTenant(platform), 'agent');
    const path = `/tenant/${agent.tenant.id}`;
    const post = (to: string, body: object | FormData) => expectReply<{ id: string }>(platform.call('POST', path + to, body, agent.tenant));
    const { id } = await post(`/agents/${agent.id}/sessions`, { message: { content: 'The first' } });
    const say = (content: string, more: object = {}) => post(`/sessions/${id}/messages`, { role: 'user', content, ...more });
    await say('A second');
    await say('A third');
    const seen: string[] = [];
    receive(platform, agent, async ({ type, data }, { session }) => {
      seen.push(`${type}: ${(data as { message: { content: string } }).message.content}`);
      // Only this runner's one worker takes messages, so those after the first stay at the broker meanwhile.
      for await (const { content, user } of session!.messages()) {
        assert.match(user, /^c\w{24}$/);
        seen.push(String(content));
        if (content === LAST) return;
      }
    });
    await eventually('the handler has the earlier messages', () => seen.length === 3);
    await say(LAST);
    await eventually('all messages are settled', async () => {
      const { messages } = await expectReply<Shown>(platform.call('GET', `${path}/sessions/${id}`, undefined, agent.tenant), 200);
      return messages.every(({ runner_status }) => runner_status === 'seen');
    });
    assert.equal(seen, ['annals.session.started: The first', 'A second', 'A third', LAST]);
  }));

test.run();
