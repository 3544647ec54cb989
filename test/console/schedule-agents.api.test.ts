import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createCronJob, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reporter');
const job = await createCronJob(p, agent, { name: 'Hourly report', cron_expr: '0 * * * *' });
const open = async (query: string): Promise<string> => {
  await p.waitForProjections();
  return (await p.open(`${p.base}/schedules?${query}`)).text;
};

test('in a tenant with more than 200 agents, the filter searches for an agent, and names the chosen one', async () => {
  assert.match(await open(''), new RegExp(`<select id="filter-agent_id"[\\s\\S]*<option value="${agent}">Reporter<`));
  const [ctx, first] = [p.systemContext(p.tenant_id), p.eventsOf('AgentCreated').find(({ id }) => id === agent)!];
  for (let n = 0; n < 200; n++)
    await ctx.transact(Agent, ctx.newId(), Agent.create({ ...(first.data as object), name: `Later ${n}`, slug: `later-${n}` } as never));
  const text = await open(`agent_id=${agent}`);
  const source = `data-source="/tenant/${p.tenant_id}/autocomplete\\?types=agent[^"]*" data-label="Reporter"`;
  assert.match(text, new RegExp(`${source}[\\s\\S]*value="${agent}"`));
  assert.match(text, new RegExp(`data-kind="cron-job" data-id="${job}"`));
});

afterLastTest(() => p.close());

test.run();
