import fc from 'fast-check';
import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as LeafRule from '../../domain/audit/leaf-rule.ts';
import { leafHash } from '../../domain/audit/merkle-tree.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { TENANT } from '../fixtures/given.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const key = (key_id: string): AuditKey.AuditKey => ({ key_id, public_key: 'p', sealed_private_key: 's', cross_signature: null });

const decisions: AreaCases['decisions'] = [
  repeated(AuditKey, [], {
    'audit/audit-key.ts addKey': fc.constantFrom(null, 'a').map((after) => AuditKey.addKey(key(after === null ? 'a' : 'b'), after)),
  }),
  repeated(AuditAnchor, [], {
    'audit/audit-anchor.ts recordAnchored': fc
      .integer({ min: 1, max: 9 })
      .map((size) => AuditAnchor.recordAnchored({ head_id: 'h', size, root: 'r', host: 'anchor.example', status: 200 })),
  }),
  repeated(LeafRule, [], {
    'audit/leaf-rule.ts changeLeafRule': fc
      .integer({ min: 1, max: 9 })
      .map((size) => LeafRule.changeLeafRule({ size, root: 'r', position: '1:1', key_id: 'a' } as AuditHead.AuditHeadFields)),
  }),
  repeated(AuditHead, [], {
    'audit/audit-head.ts signHead': fc.integer({ min: 1, max: 9 }).map((last) => {
      const leaves = [{ leaf: leafHash(`${last}`), position: { commit: BigInt(last), prepare: BigInt(last) } }];
      return AuditHead.signHead(leaves, { tenant: TENANT, at: NOW, sign: () => ({ signature: 's', key_id: 'a' }) });
    }),
  }),
];

export const cases: AreaCases = { decisions };
