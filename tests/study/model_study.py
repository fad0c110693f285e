"""A study in plain dictionaries, without a database: what the real one must do, in a hundred lines."""

from sparing.buying.plan import Plan
from sparing.study import Conflict, Taken
from sparing.types import OverBudget

UNIT = {"a": 110, "b": 220, "c": 330, "d": 440}


class ModelStudy:
    """Money in cents; queries are those of the first plan. ``before`` is the row of a study of settled examples."""

    def __init__(self, settings, before):
        self.names, self.seed, self.total = settings.attributes, settings.seed, before.total
        self.plan = Plan(settings.shop, settings.learner.buyer.plan.shares)
        self.n_before, self.n_drawn, self.events = before.asks, before.examples, before.head
        self.examples, self.asks = {}, [None] * self.n_before
        self.committed, self.spent = before.committed, before.spent

    def _event(self):
        self.events += 1
        return self.events

    def ask(self, name, who):
        example = self.examples.get(name)
        if example is None:
            query = self.plan.query(self.seed, self.n_drawn).attributes
            made = {"query": [self.names[at] for at in query], "values": {}, "y": None, "state": "new", "ask": None}
            ask = self._reserve(made["query"], name, who)
            self.n_drawn += 1
            self.examples[name] = made | {"ask": ask, "event": self._event()}
            return ask
        if "said" in example:
            raise Conflict
        return self._ask_for_rest(name, who)

    def _ask_for_rest(self, name, who):
        example = self.examples[name]
        if example["state"] == "withdrawn":
            raise Conflict
        last = self.asks[example["ask"]]
        if last["state"] == "open" or example["state"] == "settled":
            if last["who"] != who:
                raise Taken
            return example["ask"]
        if last["state"] == "lapsed" and last["who"] == who:
            last["state"] = "open"
        else:
            missing = [n for n in example["query"] if n not in example["values"]]
            example["ask"] = self._reserve(missing, name, who)
        self._event()
        return example["ask"]

    def begin_visit(self, name, known):
        if name not in self.examples:
            made = {"query": list(known), "values": dict(known), "y": None, "state": "visit", "ask": None, "said": None}
            self.examples[name] = made | {"event": self._event()}
        elif "said" not in self.examples[name]:
            raise Conflict

    def ask_next(self, name, wanted, who):
        """``wanted`` is what the fitted model wants next: which that is, this model does not know."""
        example = self.examples[name]
        if len(example["values"]) < len(example["query"]) or example["state"] == "withdrawn":
            return self._ask_for_rest(name, who)
        if not wanted:
            if example["said"] != example["event"]:
                example["said"] = example["event"]
                self._event()
            return None
        if example["ask"] is not None and self.asks[example["ask"]]["state"] == "open":
            return self._ask_for_rest(name, who)
        example["ask"] = self._reserve(wanted, name, who)
        example["query"] += wanted
        example["said"] = None
        self._event()
        return example["ask"]

    def _reserve(self, wanted, name, who):
        price = sum(UNIT[n] for n in wanted)
        if self.committed + price > self.total:
            raise OverBudget
        self.committed += price
        self.asks.append(
            {"name": name, "who": who, "wanted": wanted, "told": {}, "y": None, "state": "open", "said": {}}
        )
        return len(self.asks) - 1

    def tell(self, number, values, y):
        ask = self.asks[number]
        example = self.examples[ask["name"]]
        content = (tuple(sorted((n, str(v)) for n, v in values.items())), y)
        if content in ask["said"]:
            return ask["said"][content]
        if ask["state"] == "cancelled":
            raise Conflict
        if any(n in ask["told"] and ask["told"][n] != v for n, v in values.items()):
            raise Conflict
        if y is not None and ask["y"] not in (None, y):
            raise Conflict
        fresh = {n: v for n, v in values.items() if n not in ask["told"]}
        if not fresh and (y is None or ask["y"] is not None):
            if not ask["said"]:
                raise ValueError
            return max(ask["said"].values())
        event = ask["said"][content] = self._event()
        ask["told"] |= fresh
        ask["y"] = y if ask["y"] is None else ask["y"]
        for name, value in fresh.items():
            if value == "not bought":
                self.committed -= UNIT[name]
            else:
                self.spent += UNIT[name]
        if example["state"] != "withdrawn":
            before = dict(example["values"]), example["y"]
            example["values"] = fresh | example["values"]
            example["y"] = y if example["y"] is None else example["y"]
            if before != (example["values"], example["y"]):
                example["event"] = event
            complete = len(example["values"]) == len(example["query"]) and example["y"] is not None
            if complete and "said" not in example:
                example["state"] = "settled"
        needless = "said" in example or example["state"] == "withdrawn"  # of a target
        if len(ask["told"]) == len(ask["wanted"]) and (example["y"] is not None or needless):
            ask["state"] = "told"
        return event

    def cancel(self, number):
        ask = self.asks[number]
        if ask["state"] == "told":
            raise Conflict
        if ask["state"] != "cancelled":
            self.committed -= sum(UNIT[n] for n in ask["wanted"] if n not in ask["told"])
            ask["state"] = "cancelled"
            self._event()

    def expire(self):
        for ask in self.asks[self.n_before :]:
            if ask["state"] == "open":
                ask["state"] = "lapsed"
                self._event()

    def correct(self, name, values, y, expected):
        example, content = self.examples[name], (expected, str(values), y)
        if example.get("corrected") == (content, example["event"]):
            return example["event"]  # sent again
        if example["event"] != expected or example["state"] == "withdrawn":
            raise Conflict
        if any(n not in example["values"] for n in values) or (y is not None and example["y"] is None):
            raise Conflict
        example["values"] |= values
        example["y"] = example["y"] if y is None else y
        example["event"] = self._event()
        example["corrected"] = content, example["event"]
        return example["event"]

    def withdraw(self, name):
        example = self.examples[name]
        if example["state"] != "withdrawn":
            example["state"], example["event"] = "withdrawn", self._event()
        return example["event"]
