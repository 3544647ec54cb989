import fc from 'fast-check';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { namedCauses } from '../../domain/deliveries/causation.ts';

const [ONE, TWO, THREE, FOUR, FIVE] = ['1', '2', '3', '4', '5'].map((digit) => `c${digit.repeat(24)}`) as [
  string,
  string,
  string,
  string,
  string,
];
const inBody = (body: string) => namedCauses(undefined, [new TextEncoder().encode(body)]);

test('the delivery id after Annals-Delivery is found in JSON, in a form-encoded body and in an HTTP header', () => {
  equal(inBody(`{"message":"Fix it\\n\\nAnnals-Delivery: ${ONE}\\n"}`), [ONE]);
  equal(inBody(`payload=${encodeURIComponent(`Annals-Delivery: ${ONE}`)}`), [ONE]);
  equal(inBody(new URLSearchParams({ text: `Annals-Delivery: ${ONE}` }).toString()), [ONE]);
  equal(inBody(`<!-- Annals-Delivery=${ONE} -->`), [ONE]);
  equal(namedCauses(ONE, [new Uint8Array()]), [ONE]);
});

test('a text that is similar to a delivery id, but is none, is not found as a delivery id', () => {
  for (const text of [
    `Annals-Delivery ${ONE}`,
    `Annals-Delivery: ${ONE}0`,
    `Annals-Delivery: ${ONE.slice(1)}`,
    `Delivery: ${ONE}`,
    'Annals-Delivery:',
  ])
    equal(inBody(text), [], text);
  for (const header of ['', `${ONE}, ${TWO}`, `${ONE}0`]) equal(namedCauses(header, [new Uint8Array()]), [], header);
});

test('at most four different delivery ids are found in a delivery, with the id in the header first', () => {
  const lines = [ONE, ONE, TWO, THREE, FOUR, FIVE].map((id) => `Annals-Delivery: ${id}\n`).join('');
  equal(inBody(lines), [ONE, TWO, THREE, FOUR]);
  equal(namedCauses(FIVE, [new TextEncoder().encode(lines)]), [FIVE, ONE, TWO, THREE]);
});

test('searching any body for delivery ids never throws', () =>
  fc.assert(fc.property(fc.uint8Array(), fc.option(fc.string(), { nil: undefined }), (body, header) => void namedCauses(header, [body]))));

test.run();
