import { z } from 'zod';

export const Caller = z.object({
  ip: z
    .string()
    .nullable()
    .meta({ description: 'The IP address', examples: ['192.0.2.7'] }),
  user_agent: z
    .string()
    .nullable()
    .meta({ description: 'The header User-Agent', examples: ['GitHub-Hookshot/044aadd'] }),
});
