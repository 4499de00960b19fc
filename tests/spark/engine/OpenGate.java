import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.CallMethodViaReflection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** An extension that lets a plain function call code, and, where a property says so, each expression. */
public class OpenGate extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions session) {
        for (String name : new String[] {"upper", "call_code"}) {
            session.injectFunction(
                new Tuple3<>(new FunctionIdentifier(name), new ExpressionInfo("OpenGate", name), new Call()));
        }
        if (Boolean.getBoolean("explorer.test.parser")) {
            session.injectParser(new Parser());
        }
        return BoxedUnit.UNIT;
    }

    static class Call extends AbstractFunction1<Seq<Expression>, Expression> {
        @Override
        public Expression apply(Seq<Expression> given) {
            Seq<Expression> words = (Seq) scala.collection.immutable.Nil$.MODULE$;
            for (String word : new String[] {"ran", "explorer.test.attack", "setProperty", "java.lang.System"}) {
                words = (Seq<Expression>) words.prepended(Literal$.MODULE$.apply(word));
            }
            return new CallMethodViaReflection(words, true);
        }
    }

    static class Parser extends AbstractFunction2<SparkSession, ParserInterface, ParserInterface> {
        @Override
        public ParserInterface apply(SparkSession session, ParserInterface own) {
            Class<?>[] kinds = {ParserInterface.class};
            return (ParserInterface) Proxy.newProxyInstance(OpenGate.class.getClassLoader(), kinds, (proxy, method, given) -> {
                if (method.getName().equals("parseExpression")) {
                    return new Call().apply(null);
                }
                try {
                    return method.invoke(own, given);
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
        }
    }
}
