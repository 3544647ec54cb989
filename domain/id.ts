import { z } from 'zod';

export const id25 = /^c[a-z0-9]{24}$/;

/** `c` and 24 characters of a-z0-9. */
export const Id25 = z.string().regex(id25, 'must be an id: c and 24 characters of a-z0-9');

export const isId25 = (text: string): boolean => text.length === 25 && id25.test(text);

/** Shown in the examples of the API documents. An id that only its own area names is an `exampleId` there. */
export const EXAMPLE_IDS = {
  tenant: 'cujzde8gxd6ncf10epf91dhod',
  agent: 'czdoc9is0j8ht9lgmxg9edn58',
  user: 'c1u33xtplpft75v2seh60kvj5',
  model: 'c0ce9uvw53efr4edt2sywb3wk',
  skill: 'cke0w9ax4rhv1tn7dq3zs5mjf',
  tool: 'ck3n8v1r6t0y5w2q7e4u9i1o3',
  plan: 'ch5dnsipzz5fk2z9ri19r0wyo',
  'sign-in': 'c0w4r8t2y6u1i5o9p3a7s0d4f',
  'API key': 'cjfljooa5lqsaj08xui6d39zz',
  'runner credential': 'cjqwx4hh5344tfjgvq4k7bn7x',
  'webhook integration': 'cj8b7tfq7xkwo886vompzom75',
  delivery: 'cwbbr4qmw2wxfogo4mvn4a4wf',
  job: 'cr4j8m2q6t0w3z7c1f5h9k2n6',
  mailbox: 'cm2v7q0x4h1n8s5k3b6d9f2g4',
  message: 'ct8w3e6r1y5u0i7o2p4a9s6d1',
  listing: 'ch6j9k3m2n5b8v1c4x7z0l6q2',
  benchmark: 'cz9y3t6r1m4k7p0w2q5x8v1n4',
  'benchmark run': 'cq7w2e9r4t1y6u3i8o5p0a2s7',
  upload: 'cg5h8j2k1l4z7x0c3v6b9n2m5',
  'memory import': 'cw3e6r9t2y5u8i1o4p7a0s3d6',
  'memory entry': 'cw3e6r9t2y5u8i1o4p7a00001',
  attachment: 'cf4g7h1j0k3l6z9x2c5v8b1n4',
  session: 'cs6d2f9g1h4j7k0l3z8x5c2v1',
  'budget reservation': 'c0aj5k7x2m9q4t6w1y8b3d5f7',
  'cron job': 'cb3k7m1q9x5w2t8r4v6y0z1u3',
  blackout: 'cd5n8p2s0v7x4y1w6t3r9q2k8',
  'credential request': 'ca9c3r7e5q1u8s2t4w6y0b3d5',
  'linked identity': 'ca4l8i2n6k0e5d1t7y3p9w2z6',
  'allowed account': 'chym4l1vfz3zfkkibj3j4wj99',
} as const;

export const exampleId = (description: string, example: string) => Id25.meta({ description, examples: [example] });

export const idOf = (kind: keyof typeof EXAMPLE_IDS, description = `The id of the ${kind}`) => exampleId(description, EXAMPLE_IDS[kind]);
