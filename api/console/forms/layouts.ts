import { agentLayouts } from './agents.ts';
import type { FormLayout } from './form-layout.ts';
import { guardrailLayouts } from './guardrails.ts';
import { integrationLayouts } from './integrations.ts';
import { memberLayouts } from './members.ts';
import { blackoutLayouts, cronJobLayouts } from './schedules.ts';

/** The layouts of forms, by operation. All other forms show their fields in the order of the schema. */
export const LAYOUTS: Readonly<Record<string, FormLayout>> = {
  ...agentLayouts,
  ...cronJobLayouts,
  ...blackoutLayouts,
  ...integrationLayouts,
  ...guardrailLayouts,
  ...memberLayouts,
};
