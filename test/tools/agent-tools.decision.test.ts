import { test } from 'uvu';
import * as Agent from '../../domain/agents/agent.ts';
import { grantTool, MAX_AGENT_TOOLS, MAX_CONFIGURATIONS_LENGTH, revokeTool } from '../../domain/agents/agent-tools.ts';
import { given } from '../fixtures/given.ts';

const created: Agent.AgentEvent = {
  type: 'AgentCreated',
  data: { ...Agent.defaults, name: 'A', slug: 'a', generation: 0, owner_id: null, skill_visibility_scope: 'private_only', is_seed: false },
};
const of = (tool_id: string, configuration = {}, is_enabled = true) => ({ tool_id, is_enabled, configuration });
const granted = (tool_id: string, configuration = {}, is_enabled = true): Agent.AgentEvent => ({
  type: 'AgentToolGranted',
  data: of(tool_id, configuration, is_enabled),
});

test('granting a tool again emits an event only if it changes the grant', () => {
  given(Agent, created)
    .when(grantTool(of('a')))
    .emits(granted('a'));
  given(Agent, created, granted('a'))
    .when(grantTool(of('a')))
    .emits();
  given(Agent, created, granted('a'))
    .when(grantTool(of('a', {}, false)))
    .emits(granted('a', {}, false));
  given(Agent, created, granted('a'))
    .when(grantTool(of('a', { x: 1 })))
    .emits(granted('a', { x: 1 }));
});

test('granting or revoking a tool is refused if the agent is missing or deleted; revoking a tool that is not granted is refused, too', () => {
  given(Agent)
    .when(grantTool(of('a')))
    .refuses('not_found');
  given(Agent, created, granted('a'), { type: 'AgentDeleted', data: {} }).when(revokeTool('a')).refuses('not_found');
  given(Agent, created).when(revokeTool('a')).refuses('not_found');
  given(Agent, created, granted('a'))
    .when(revokeTool('a'))
    .emits({ type: 'AgentToolRevoked', data: { tool_id: 'a' } });
});

test('if an agent has the maximum number of tools, granting another tool is refused, and existing grants can still be changed', () => {
  const full = Array.from({ length: MAX_AGENT_TOOLS }, (_, index) => granted(`t${index}`));
  given(Agent, created, ...full)
    .when(grantTool(of('more')))
    .refuses('conflict');
  given(Agent, created, ...full)
    .when(grantTool(of('t0', { x: 1 })))
    .emits(granted('t0', { x: 1 }));
});

test('if an agent has the maximum number of tools, a new grant revokes grants of removed tools to make room; if there is room, those grants are kept', () => {
  const full = Array.from({ length: MAX_AGENT_TOOLS }, (_, index) => granted(`t${index}`));
  given(Agent, created, ...full)
    .when(grantTool(of('more'), ['t1', 'unknown']))
    .emits({ type: 'AgentToolRevoked', data: { tool_id: 't1' } }, granted('more'));
  given(Agent, created, granted('t1'))
    .when(grantTool(of('more'), ['t1']))
    .emits(granted('more'));
  given(Agent, created, ...full)
    .when(grantTool(of('t0', { x: 1 }), ['t1']))
    .emits(granted('t0', { x: 1 }));
});

test('a grant is refused if the configurations of all tools of the agent would then together exceed the maximum length', () => {
  const ofLength = (length: number) => ({ text: 'a'.repeat(length - '{"text":""}'.length) });
  const half = granted('a', ofLength(MAX_CONFIGURATIONS_LENGTH / 2));
  const rest = ofLength(MAX_CONFIGURATIONS_LENGTH / 2);
  given(Agent, created, half)
    .when(grantTool(of('b', rest)))
    .emits(granted('b', rest));
  given(Agent, created, half)
    .when(grantTool(of('b', ofLength(MAX_CONFIGURATIONS_LENGTH / 2 + 1))))
    .refuses('conflict');
  given(Agent, created, half)
    .when(grantTool(of('a', ofLength(MAX_CONFIGURATIONS_LENGTH))))
    .emits(granted('a', ofLength(MAX_CONFIGURATIONS_LENGTH)));
});

test.run();
