import type { Hono } from 'hono';
import { accessArea } from './agents/access.area.ts';
import { agentsArea } from './agents/agents.area.ts';
import { modelsArea } from './agents/models.area.ts';
import type { Area, OperationServices, RouteServices } from './area.ts';
import { auditArea } from './audit/audit.area.ts';
import { autocompleteArea } from './autocomplete/autocomplete.area.ts';
import { benchmarksArea } from './benchmarks/benchmarks.area.ts';
import { billingArea } from './billing/billing.area.ts';
import { credentialsArea } from './credentials/credentials.area.ts';
import { deliveriesArea } from './deliveries/deliveries.area.ts';
import { filesArea } from './files/files.area.ts';
import { guardrailsArea } from './guardrails/guardrails.area.ts';
import type { Operations } from './http/operation.ts';
import type { PlainPaths, PlainRowsOf } from './http/plain-route.ts';
import { apiKeysArea } from './identity/api-keys.area.ts';
import { usersArea } from './identity/users.area.ts';
import { integrationsArea } from './integrations/integrations.area.ts';
import { mailArea } from './mail/mail.area.ts';
import { marketplaceArea } from './marketplace/marketplace.area.ts';
import { memoryArea } from './memory/memory.area.ts';
import { operatorsArea } from './operations/operators.area.ts';
import { redactionArea } from './redaction/redaction.area.ts';
import { runnersArea } from './runners/runners.area.ts';
import { schedulesArea } from './schedule/schedules.area.ts';
import { sessionsArea } from './sessions/sessions.area.ts';
import { skillWebhooksArea } from './skill-calls/skill-webhooks.area.ts';
import { skillsArea } from './skills/skills.area.ts';
import { chatSettingsArea } from './slack/chat-settings.area.ts';
import { tenantsArea } from './tenants/tenants.area.ts';
import { toolsArea } from './tools/tools.area.ts';

/** All areas of the API, in the order of the OpenAPI document. */
export const areas = [
  agentsArea,
  accessArea,
  skillsArea,
  skillWebhooksArea,
  chatSettingsArea,
  modelsArea,
  toolsArea,
  apiKeysArea,
  integrationsArea,
  guardrailsArea,
  deliveriesArea,
  redactionArea,
  runnersArea,
  credentialsArea,
  benchmarksArea,
  mailArea,
  memoryArea,
  marketplaceArea,
  autocompleteArea,
  sessionsArea,
  schedulesArea,
  tenantsArea,
  billingArea,
  usersArea,
  auditArea,
  operatorsArea,
  filesArea,
] as const satisfies readonly Area[];

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (member: infer All) => void ? All : never;

type AreaRows = ReturnType<(typeof areas)[number]['operations']>;

/** The types of all operations, by operation id. The console and clients check their calls against them. */
export type Rows = Intersection<AreaRows>;

export type PlainRows = PlainRowsOf<(typeof areas)[number]['plainRoutes'][number]['paths']>;

export const operationsOf = (services: OperationServices): Operations =>
  Object.fromEntries(
    (areas as readonly Area[]).flatMap(({ title, description, operations }) =>
      Object.entries(operations(services)).map(([name, row]) => [name, { ...row, area: { title, description } }]),
    ),
  );

const plainRoutes = (areas as readonly Area[]).flatMap((area) => area.plainRoutes);

export const plainPaths: PlainPaths = Object.assign({}, ...plainRoutes.map(({ paths }) => paths));

export const mountPlainRoutes = (app: Hono, services: RouteServices): void => {
  for (const { mount } of plainRoutes) mount(app, services);
};
