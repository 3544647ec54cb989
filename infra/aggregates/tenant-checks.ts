import type { Checks } from '../../commands/context.ts';
import { parseCron } from '../cron-expression.ts';
import { patternCompiler } from '../guardrails/pattern-compiler.ts';
import { jsonSchemaValidator } from '../json-schema/json-schema-validator.ts';
import type { CpuBudgets } from '../threads/cpu-budget.ts';

const schemas = jsonSchemaValidator();

/** The checks whose cost a tenant chooses by its schemas, patterns and expressions. It is charged for their processor time. */
export const tenantChecks = ({ charge }: CpuBudgets, tenant: string): Checks => ({
  jsonSchemas: {
    faultOfSchema: (schema) => charge(tenant, () => schemas.faultOfSchema(schema)),
    faultOfValue: (schema, value) => charge(tenant, () => schemas.faultOfValue(schema, value)),
  },
  patterns: {
    faultOf: (pattern) => charge(tenant, () => patternCompiler.faultOf(pattern)),
    faultOfQuery: (path) => charge(tenant, () => patternCompiler.faultOfQuery(path)),
    sizeOf: (pattern) => charge(tenant, () => patternCompiler.sizeOf(pattern)),
    redact: (text, patterns) => charge(tenant, () => patternCompiler.redact(text, patterns)),
  },
  parseCron: (...expression) => charge(tenant, () => parseCron(...expression)),
});
