import type { Context } from 'hono';
import { z } from 'zod';
import { callSkill, type SkillCallOutcome } from '../../commands/skill-calls/call-skill.ts';
import type { SkillCallPorts } from '../../commands/skill-calls/skill-call-ports.ts';
import { MAX_CALL_BYTES } from '../../domain/skill-calls/skill-call.ts';
import { headersOf } from '../deliveries/inbound-webhook.ts';
import { jsonContentOf } from '../http/example.ts';
import { assertNotEncoded, readBytes } from '../http/json-body.ts';
import { headerParameter, plainRoute, plainRoutes } from '../http/plain-route.ts';

/** The functions that the route needs from infra/. `address` returns the client's IP address. */
export type SkillCallDeps = { readonly skillCalls: SkillCallPorts; readonly address: (c: Context) => string | null };

const receiveSkillCall =
  ({ skillCalls, address }: SkillCallDeps) =>
  async (c: Context): Promise<Response> => {
    const header = headersOf(c);
    const readBody = (): Promise<Uint8Array> => {
      assertNotEncoded(header('content-encoding') ?? null);
      return readBytes(c.req.raw, MAX_CALL_BYTES);
    };
    const call = { webhook_id: c.req.param('webhook_id')!, header, ip: address(c), readBody };
    const outcome = await callSkill(skillCalls, call, (headers) => c.set('limits', headers));
    if (outcome.isRepeat) c.set('isReplay', true);
    return respond(outcome);
  };

const respond = ({ id, outcome, token }: SkillCallOutcome): Response =>
  new Response(`{"id":"${id}","outcome":"${outcome}"}`, {
    status: 202,
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { 'consistency-token': token }) },
  });

const SkillCallRead = z.object({
  id: z.string().meta({
    description: 'The id of the call, in the invocations of the skill and as a delivery',
    examples: ['cwbbr4qmw2wxfogo4mvn4a4wf'],
  }),
  outcome: z.enum(['accepted', 'blocked']).meta({ description: 'What happened to the call' }),
});

/**
 * The route that external systems call to start a skill. It is a plain route, because its only credential is the token
 * of the webhook.
 */
export const skillCallRoutes = plainRoutes([
  plainRoute({
    method: 'post',
    path: '/hooks/skills/:webhook_id',
    operationId: 'callSkill',
    body: z.looseObject({}),
    reply: SkillCallRead,
    summary: 'Call a skill',
    description: `Sends a JSON object of any shape, of at most ${MAX_CALL_BYTES} bytes and 64 levels, to the agent for which the skill is exposed. Every call without the right token gets the same 401, also if there is no such webhook. Every call is in the skill's list of invocations; refused calls beyond the first 100 of an IP address in an hour are counted there. With an \`Idempotency-Key\`, a repeat of a call is not processed again: it gets the response of the first one, and the header \`Idempotent-Replayed\`. The key is remembered forever; with another body, it is refused with 422. Calls count against the plan's \`webhooks_per_minute\`.`,
    tag: 'Skills',
    security: [{ skillToken: [] }],
    parameters: [
      headerParameter('Idempotency-Key', '1 to 255 printable ASCII characters; a repeat with the same key is processed only once', false),
      headerParameter('traceparent', 'A trace context (W3C); the runner gets it with the call. An invalid one is ignored', false),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { type: 'object' }, example: { pull_request: 4711 } } },
    },
    responses: {
      202: {
        description: 'Recorded. A blocked call is not sent to the agent: the agent is inactive, or a guardrail blocks it',
        content: jsonContentOf(SkillCallRead, 'output', {}),
      },
    },
    problems: [400, 401, 413, 415, 422, 429, 503],
    handler: receiveSkillCall,
  }),
]);
