// Functions of C++.
namespace chat {
struct Hub {
	template <class T> T send(T value);
	int operator()(int n) const;
};
template <class T> __attribute__((noinline)) T Hub::send(T value) { return value + 1; }
__attribute__((noinline)) int Hub::operator()(int n) const { return n; }
} // namespace chat

extern "C" int both(int n) {
	chat::Hub hub;
	return hub.send(n) + hub(n);
}
