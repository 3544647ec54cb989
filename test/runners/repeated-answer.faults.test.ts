// limit: 240 s for this file (test/run.ts)
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { setAckWait } from '../faults/runner-faults.ts';
import { expectReply } from '../faults/running-platform.ts';
import { type Agent, createAgent, createTenant } from '../faults/tenants.ts';
import { bareEnvironment, eventually, type Program, root, startProgram } from '../fixtures/child-process.ts';
import { type LentPlatform, lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();
const ACK_WAIT_MS = 2_000;

const start = async ({ url, dir, stopOnClose }: LentPlatform, agent: Agent, hangs: string): Promise<Program> => {
  const home = join(dir, `answering-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const env = { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: agent.runnerKey, RUNNER_HOME: home };
  const program = startProgram(process.execPath, [join(root, 'test/faults/answering-runner.ts')], {
    cwd: home,
    env: { ...env, PROGRESS_MS: String(ACK_WAIT_MS / 2), ...(hangs && { HANGS: hangs }) },
  });
  stopOnClose(program);
  await program.waitForOutput(/waiting for messages/);
  return program;
};

/** The messages that a person writes: the first one starts the session, the others are taken by the running handler. */
const cases = { 'the message of its event': ['the last one'], 'a message that it has taken': ['the first one', 'the last one'] };

for (const [name, texts] of Object.entries(cases))
  test(`a runner that is killed between its answer to ${name} and the acknowledgement has answered once`, () =>
    onPlatform(async (platform) => {
      const agent = await createAgent(platform, await createTenant(platform), 'agent');
      const path = `/tenant/${agent.tenant.id}`;
      const post = (to: string, body: object) => expectReply<{ id: string }>(platform.call('POST', path + to, body, agent.tenant));
      const killed = await start(platform, agent, 'yes');
      await setAckWait(platform, agent, ACK_WAIT_MS);
      const [first, ...others] = texts;
      const { id } = await post(`/agents/${agent.id}/sessions`, { message: { content: first } });
      await killed.waitForOutput(new RegExp(`answered ${first}`));
      for (const content of others) await post(`/sessions/${id}/messages`, { role: 'user', content });
      await killed.waitForOutput(/answered the last one/);
      await killed.stop('SIGKILL');
      const next = await start(platform, agent, '');
      await next.waitForOutput(/answered the last one/);
      assert.match(next.output(), /had answered the last one/);
      type Shown = { messages: { role: string; content: string; runner_status: string | null }[] };
      const read = async (): Promise<Shown> =>
        expectReply<Shown>(platform.call('GET', `${path}/sessions/${id}`, undefined, agent.tenant), 200);
      await eventually('all messages are processed', async () =>
        (await read()).messages.every(({ runner_status }) => runner_status !== 'waiting'),
      );
      const answers = (await read()).messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
      assert.equal(
        answers,
        texts.map((text) => `${killed.child.pid} answers ${text}`),
      );
      await next.stop();
    }));

test.run();
