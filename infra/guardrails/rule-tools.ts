import type { RuleTools } from '../../domain/guardrails/guardrail-evaluation.ts';
import { findInjection } from '../../domain/redaction/injection.ts';
import { compileJsonQuery } from './json-query.ts';
import { textPattern } from './pattern-compiler.ts';

export const ruleTools: RuleTools = { compilePattern: textPattern, compileQuery: compileJsonQuery, findInjection };
