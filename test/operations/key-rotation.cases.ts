import fc from 'fast-check';
import type { AgentEvent } from '../../domain/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { resealHeaders } from '../../domain/schedule/job-headers.ts';
import { resealConfig } from '../../domain/skills/agent-skills.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

const kid = fc.constantFrom('one', 'two');
const tenant = fc.constantFrom('a', 'b');
const FILE = 'operations/key-rotation.ts';

const sealedKey = { key_id: 'k', public_key: 'p', sealed_private_key: 'first', cross_signature: null };
const configured: AgentEvent[] = [
  { type: 'AgentSkillGranted', data: { skill_id: 'a', is_enabled: true } },
  { type: 'AgentSkillConfigReplaced', data: { skill_id: 'a', sealed_config: 'first' } },
];
const secretsOf = (sealed_secret: string) => ({ sealed_secret, sealed_previous_secret: null });

const decisions: AreaCases['decisions'] = [
  repeated(KeyRotation, [], {
    [`${FILE} startMasterRotation`]: kid.map((to_kid) => KeyRotation.startMasterRotation({ from_kid: 'old', to_kid })),
    [`${FILE} confirmMasterRotation`]: kid.map(KeyRotation.confirmMasterRotation),
    [`${FILE} completeMasterRotation`]: kid.map((to_kid) => KeyRotation.completeMasterRotation(to_kid, 3)),
    [`${FILE} startDataKeyRotation`]: fc.tuple(tenant, kid).map(([id, to]) => KeyRotation.startDataKeyRotation(id, to)),
    [`${FILE} completeDataKeyRotation`]: fc
      .tuple(tenant, kid)
      .map(([id, to]) => KeyRotation.completeDataKeyRotation(id, to, { files: 2, secrets: 1 })),
  }),
  repeated(AuditKey, [{ type: 'AuditKeyCreated', data: sealedKey }], {
    'audit/audit-key.ts resealKey': fc.constant(AuditKey.resealKey('k', 'first', 'second')),
  }),
  repeated(LinkedIdentity, [{ type: 'IdentityResealed', data: { sealed: 'first' } }], {
    'credentials/linked-identity.ts resealIdentity': fc.constant(LinkedIdentity.resealIdentity('first', 'second')),
  }),
  repeated(CronJob, [{ type: 'CronJobHeadersResealed', data: { sealed_headers: 'first' } }], {
    'schedule/job-headers.ts resealHeaders': fc.constant(resealHeaders('first', 'second')),
  }),
  repeated(Agent, configured, { 'skills/agent-skills.ts resealConfig': fc.constant(resealConfig('a', 'second', 1)) }),
  repeated(
    Integration,
    [
      {
        type: 'IntegrationConnected',
        data: {
          ...{ tenant_id: 'a', provider: 'github', agent_id: 'a', label: 'l', delivery_id_source: null, event_filter: [] },
          ...{ replay_guard: 'off', options: {}, sealed_secret: 'first', secret_hint: 'h' },
        },
      },
      {
        type: 'IntegrationSecretRotated',
        data: { sealed_secret: 'first', secret_hint: 'h', previous_secret_valid_until: '2026-11-23T10:00:00.000Z' },
      },
    ],
    {
      'integrations/integration.ts dropPreviousSecret': fc.constant(Integration.dropPreviousSecret('a')),
      'integrations/integration.ts resealSecret': fc.constant(Integration.resealSecret(secretsOf('first'), secretsOf('second'))),
    },
  ),
];

export const cases: AreaCases = { decisions };
