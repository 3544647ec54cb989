import { findInjection } from '../../domain/redaction/injection.ts';
import type { RuleTools } from '../../domain/webhooks/guardrail-evaluation.ts';
import { compileJsonQuery } from './json-query.ts';
import { textPattern } from './pattern-compiler.ts';

export const ruleTools: RuleTools = { compilePattern: textPattern, compileQuery: compileJsonQuery, findInjection };
