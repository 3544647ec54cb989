// limit: 180 s for this file (test/run.ts)
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { STREAM } from '../../infra/nats/jetstream.ts';
import { createDataset } from '../faults/tenants.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test("the traceparent of a webhook is in the header of the broker's message, in its CloudEvent and in the environment of the runner's command", () =>
  onPlatform(async (platform) => {
    const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    const [agent, hook] = [agents[0]!, hooks[0]!];
    const body = '{"zen":"Keep it simple"}';
    const headers = {
      traceparent: TRACE,
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': 'traced-1',
      'x-hub-signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
    };
    assert.is((await fetch(platform.url + hook.path, { method: 'POST', headers, body })).status, 202);

    const env = {
      ...unconfiguredEnvironment(),
      ANNALS_URL: platform.url,
      ANNALS_KEY: agent.runnerKey,
      ANNALS_DATA: join(platform.dir, 'runner'),
    };
    const command = 'echo "trace $TRACEPARENT"; cat; echo';
    const runner = startProgram(process.execPath, [mainFile, 'runner', '--agent', agent.slug, '--once', '--exec', command], { env });
    assert.is(await runner.ended, 0, runner.output());
    assert.ok(runner.output().includes(`trace ${TRACE}`), runner.output());
    const [event] = /^\{"specversion".*\}$/m.exec(runner.output()) ?? [];
    assert.is((JSON.parse(event!) as { traceparent: string }).traceparent, TRACE);

    const nats = await platform.connectNats();
    const { streams } = await nats.jetstreamManager();
    const message = await streams.getMessage(STREAM, { last_by_subj: inboundSubject(agent.tenant.id, agent.id) });
    assert.is(message.header.get('traceparent'), TRACE);
    await nats.close();
  }));

test.run();
