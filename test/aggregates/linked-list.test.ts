import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLinkedList, type ListItem } from '../../infra/linked-list.ts';

test('a linked list returns the values that were added and not removed, in the order in which they were added', () => {
  const list = createLinkedList<number>();
  const items = [1, 2, 3, 4, 5].map(list.add);
  list.remove(items[0]!);
  list.remove(items[2]!);
  list.remove(items[4]!);
  assert.equal(list.values(), [2, 4]);
  list.add(6);
  assert.equal(list.values(), [2, 4, 6]);
});

test('removing a value that is no longer in a linked list does not change the list, whatever its length', () => {
  const list = createLinkedList<string>();
  const [a, b] = [list.add('a'), list.add('b')];
  for (const item of [a, a, b, b, a]) list.remove(item);
  assert.equal(list.values(), []);
  const c = list.add('c');
  for (const item of [a, b]) list.remove(item);
  assert.equal(list.values(), ['c']);
  list.remove(c);
  assert.equal(list.values(), []);
});

test('after 10,000 random changes, a linked list has the same values as a Set after the same changes', () => {
  const list = createLinkedList<number>();
  const expected = new Set<number>();
  const items: ListItem<number>[] = [];
  for (let value = 0; value < 10_000; value++) {
    if (Math.random() < 0.5) {
      items.push(list.add(value));
      expected.add(value);
    } else if (items.length > 0) {
      const item = items[Math.floor(Math.random() * items.length)]!;
      list.remove(item);
      expected.delete(item.value);
    }
  }
  assert.equal(list.values(), [...expected]);
});

test.run();
